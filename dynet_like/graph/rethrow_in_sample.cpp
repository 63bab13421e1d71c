// Adds the number of the sample to what an exception says.
#include "dynet_like/graph/rethrow_in_sample.h"

#include <string>
#include <typeinfo>

#include "dynet_like/core/errors.h"

namespace dynet_like::detail {

namespace {

template <class Error>
void throw_in_sample(const Error& error, std::size_t sample) {
  if (typeid(error) != typeid(Error)) return;
  throw Error(std::string(error.what()) + ", in sample " + std::to_string(sample));
}

}  // namespace

void rethrow_in_sample(std::exception_ptr failure, std::size_t sample) {
  try {
    std::rethrow_exception(failure);
  } catch (const ShapeError& error) {
    throw_in_sample(error, sample);
    throw;
  } catch (const UsageError& error) {
    throw_in_sample(error, sample);
    throw;
  } catch (const StateError& error) {
    throw_in_sample(error, sample);
    throw;
  } catch (const DeviceError& error) {
    throw_in_sample(error, sample);
    throw;
  } catch (const NumericError& error) {
    throw_in_sample(error, sample);
    throw;
  }
}

}  // namespace dynet_like::detail
