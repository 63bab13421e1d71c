// The gamma function's family; std::lgamma writes to a global variable.
#include "dynet_like/ops/special_formulas.h"

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>

namespace dynet_like::formulas::special {

namespace {

using namespace boost::math::policies;
using Quiet =
    policy<domain_error<ignore_error>, pole_error<ignore_error>, overflow_error<ignore_error>,
           evaluation_error<ignore_error>, promote_float<true>, promote_double<false>>;

// Large negative numbers are whole, and poles.
template <class T>
T infinite_at_poles(T x) {
  const bool is_pole = x <= 0 && x == std::floor(x);
  return is_pole || std::isinf(x) ? std::numeric_limits<T>::infinity()
                                  : boost::math::lgamma(x, Quiet());
}

}  // namespace

float log_gamma(float x) { return infinite_at_poles(x); }
double log_gamma(double x) { return infinite_at_poles(x); }
float digamma(float x) { return boost::math::digamma(x, Quiet()); }
double digamma(double x) { return boost::math::digamma(x, Quiet()); }

}  // namespace dynet_like::formulas::special
