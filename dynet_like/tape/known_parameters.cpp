// The rare paths of KnownParameters: new parameters, growth and reverting.
#include "dynet_like/tape/known_parameters.h"

#include <utility>

namespace dynet_like::detail {

void KnownParameters::add(const ParameterStorage* parameter, bool constant, std::uint32_t value) {
  if (2 * (used_ + 1) > places_.size()) {
    const std::vector<Place> before =
        std::exchange(places_, std::vector<Place>(2 * places_.size()));
    mask_ = places_.size() - 1;
    for (const Place& place : before) {
      if (place.parameter != nullptr) places_[place_of(place.parameter)] = place;
    }
  }
  Place& place = places_[place_of(parameter)];
  if (place.parameter == nullptr) ++used_;
  place.parameter = parameter;
  place.value[constant] = value;
}

void KnownParameters::revert(std::uint32_t end) {
  if (end == 0) {
    places_.assign(places_.size(), Place{});
    used_ = 0;
    return;
  }
  for (Place& place : places_) {
    for (std::uint32_t& value : place.value) {
      if (value >= end) value = kNone;
    }
  }
}

}  // namespace dynet_like::detail
