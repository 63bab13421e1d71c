// Labels of kernel calls: made once per type.
#include "dynet_like/device/kernel_clock.h"

namespace dynet_like::detail {

bool KernelLabels::Known::is(const Signature& type) const {
  return name == type.op->name && inputs == type.inputs && shared == type.shared &&
         output == type.output;
}

std::uint32_t KernelLabels::of(TimelineState& timeline, const Signature& type, bool backward) {
  const auto found = known_.find(&type);
  if (found != known_.end() && found->second.is(type)) return found->second.labels[backward];
  Known known{std::string(type.op->name), type.inputs, type.shared, type.output, {}};
  const std::string shapes = shapes_text(type);
  known.labels[0] = timeline.label({known.name, "forward", shapes, {"nodes", "items"}});
  known.labels[1] =
      timeline.label({known.name + " backward", "backward", shapes, {"nodes", "items"}});
  return known_.insert_or_assign(&type, std::move(known)).first->second.labels[backward];
}

}  // namespace dynet_like::detail
