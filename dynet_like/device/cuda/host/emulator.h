// Executes a launch on the CPU: threads of a block as fibers that switch where they wait.
#pragma once

#include "dynet_like/device/cuda/launch.h"

namespace dynet_like::cuda::host {

void execute(const Shape& shape, Threads threads, void (*run)(const void*), const void* kernel);

}  // namespace dynet_like::cuda::host
