// The device for tests of GPU code: the emulator or, in a build for GPUs, the first GPU.
#pragma once

#include <memory>
#include <string_view>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/device.h"

namespace dynet_like {

#ifdef DYNET_LIKE_CUDA_HOST
inline constexpr const char* kCudaDevice = "cuda-host";
/// Whether work runs at times that do not depend on speed.
inline constexpr bool kEmulated = true;
#else
inline constexpr const char* kCudaDevice = "cuda";
inline constexpr bool kEmulated = false;
#endif

/// Whether LargeProducts::library can be chosen here.
inline bool has_cublas() {
  const std::shared_ptr<Device> device = open_device(kCudaDevice);
  try {
    device->set_large_products(LargeProducts::library);
  } catch (const DeviceError& error) {
    if (std::string_view(error.what()).find("need libcublas") == std::string_view::npos) throw;
    return false;
  }
  device->set_large_products(LargeProducts::exact);
  return true;
}

}  // namespace dynet_like
