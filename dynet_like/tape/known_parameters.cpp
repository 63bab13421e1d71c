// The rare paths of KnownParameters: new parameters, growth and reverting.
#include "dynet_like/tape/known_parameters.h"

#include <utility>

namespace dynet_like::detail {

void KnownParameters::add(const ParameterStorage* parameter, bool constant, std::uint32_t value) {
  if (2 * (used_ + 1) > entries_.size()) {
    const std::vector<Entry> before =
        std::exchange(entries_, std::vector<Entry>(2 * entries_.size()));
    mask_ = entries_.size() - 1;
    for (const Entry& entry : before) {
      if (entry.parameter != nullptr) entries_[find_entry(entry.parameter)] = entry;
    }
  }
  Entry& entry = entries_[find_entry(parameter)];
  if (entry.parameter == nullptr) ++used_;
  entry.parameter = parameter;
  entry.value[constant] = value;
}

void KnownParameters::revert(std::uint32_t end) {
  if (end == 0) {
    entries_.assign(entries_.size(), Entry{});
    used_ = 0;
    return;
  }
  for (Entry& entry : entries_) {
    for (std::uint32_t& value : entry.value) {
      if (value >= end) value = kNone;
    }
  }
}

}  // namespace dynet_like::detail
