// Rules that have no passes on a device: copies of its numbers are updated by the CPU.
#pragma once

#include <functional>
#include <span>

#include "dynet_like/device/device.h"
#include "dynet_like/device/updates.h"

namespace dynet::detail {

/// Calls `apply` with copies of all stretches that lie on the device, and writes back what it has
/// changed.
void apply_on_cpu(dynet_like::Device& device, std::span<const dynet_like::detail::Elements> all,
                  const std::function<void(std::span<const dynet_like::detail::Elements>)>& apply);

}  // namespace dynet::detail
