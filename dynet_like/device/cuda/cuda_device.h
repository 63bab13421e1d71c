// A GPU as a device, or the CPU in its place.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/device/cuda/commands.h"
#include "dynet_like/device/device.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/device/queue.h"

namespace dynet_like::detail::cuda {

std::vector<std::string> device_names();
/// "cuda", "cuda:1", or "cuda-host" in a build for the CPU. Throws DeviceError.
std::shared_ptr<Device> open_device(std::string_view name);

/// The state that the device, its memory, its queues and its updates share. Several threads use it.
struct Shared {
  explicit Shared(unsigned device);

  std::recursive_mutex mutex;
  Runtime runtime;
  Commands commands;
  std::uint64_t fallbacks = 0;

  /// A list of at least `size` ones; it stays valid.
  const void* ones(DType dtype, std::size_t size);

 private:
  std::vector<Block> ones_[2];  ///< by DType
};

/// Memory for scratch data and lists of the commands themselves. The runtime must outlive it.
std::shared_ptr<MemorySource> own_memory(Runtime& runtime);
std::unique_ptr<Queue> make_queue(std::shared_ptr<Shared> shared);
std::unique_ptr<Reading> make_reading(std::shared_ptr<Shared> shared);
std::unique_ptr<Updates> make_updates(std::shared_ptr<Shared> shared);

}  // namespace dynet_like::detail::cuda
