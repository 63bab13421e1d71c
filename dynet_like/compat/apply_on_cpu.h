// For update rules without kernels on a device: the CPU updates copies of the device's numbers.
#pragma once

#include <functional>
#include <span>

#include "dynet_like/device/device.h"
#include "dynet_like/device/updates.h"

namespace dynet::detail {

/// Calls `apply` with copies of all stretches, which lie on the device, and writes the changes
/// back.
void apply_on_cpu(dynet_like::Device& device, std::span<const dynet_like::detail::Elements> all,
                  const std::function<void(std::span<const dynet_like::detail::Elements>)>& apply);

}  // namespace dynet::detail
