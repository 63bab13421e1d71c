// Orders: steps around a circle, with a step size that reaches every number.
#include "dynet_like/device/cuda/host/order.h"

#include <charconv>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>

#include "dynet_like/core/errors.h"

namespace dynet_like::detail::cuda::host {

namespace {

constexpr const char* kVariable = "DYNET_LIKE_CUDA_HOST_ORDER";
constexpr std::string_view kSeeded = "random:";

}  // namespace

Schedule read_schedule() {
  const char* const value = std::getenv(kVariable);
  const std::string_view name = value == nullptr ? "" : value;
  if (name.empty() || name == "ascending") return {Order::ascending};
  if (name == "descending") return {Order::descending};
  if (name == "random") return {Order::random};
  if (name.starts_with(kSeeded)) {
    Schedule schedule{Order::random};
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + kSeeded.size(), end, schedule.seed);
    if (error == std::errc() && stop == end) return schedule;
  }
  throw UsageError(std::string("[") + kVariable +
                   "] need ascending, descending, random or random:SEED; got " + value);
}

void set_schedule(const Schedule& schedule) {
  std::string value = "ascending";
  if (schedule.order == Order::descending) value = "descending";
  if (schedule.order == Order::random) value = kSeeded.data() + std::to_string(schedule.seed);
  ::setenv(kVariable, value.c_str(), 1);
}

Sequence::Sequence(std::uint64_t count, Order order, std::mt19937_64& random)
    : count_(count), next_(0), step_(1) {
  if (count < 2) return;
  if (order == Order::descending) next_ = step_ = count - 1;
  if (order != Order::random) return;
  next_ = random() % count;
  do {
    step_ = 1 + random() % (count - 1);
  } while (std::gcd(step_, count) != 1);
}

}  // namespace dynet_like::detail::cuda::host
