// Rules that have no passes on a device: copies of its numbers are updated by the CPU.
#pragma once

#include <span>

#include "dynet_like/device/device.h"
#include "dynet_like/train/update_rule.h"

namespace dynet_like {

/// One update of stretches that lie on the device. Rows of tables are stretches by themselves.
void apply_on_cpu(const UpdateRule& rule, Device& device, std::span<const Elements> all, Step step);

}  // namespace dynet_like
