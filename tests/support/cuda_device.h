// The device for tests of GPU code: the emulator or, in a build for GPUs, the first GPU.
#pragma once

namespace dynet_like {

#ifdef DYNET_LIKE_CUDA_HOST
inline constexpr const char* kCudaDevice = "cuda-host";
/// Whether work runs at times that do not depend on speed.
inline constexpr bool kEmulated = true;
#else
inline constexpr const char* kCudaDevice = "cuda";
inline constexpr bool kEmulated = false;
#endif

}  // namespace dynet_like
