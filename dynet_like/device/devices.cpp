// Devices by name.
#include "dynet_like/device/device.h"

#include <cstdlib>

#include "dynet_like/core/errors.h"
#ifdef DYNET_LIKE_CUDA
#include "dynet_like/device/cuda/cuda_device.h"
#endif

namespace dynet_like {

using namespace detail;

namespace {

#ifdef DYNET_LIKE_CUDA
constexpr const char* kMissing = "";
#else
constexpr const char* kMissing =
    ": this library was built without CUDA (configure it with -DDYNET_LIKE_CUDA=ON, or =HOST for "
    "cuda-host)";
#endif

}  // namespace

std::vector<std::string> device_names() {
  std::vector<std::string> names = {"cpu"};
#ifdef DYNET_LIKE_CUDA
  for (std::string& name : cuda::device_names()) names.push_back(std::move(name));
#endif
  return names;
}

std::shared_ptr<Device> open_device(std::string_view name) {
  if (name == "cpu") return cpu_device();
#ifdef DYNET_LIKE_CUDA
  if (name.starts_with("cuda")) return cuda::open_device(name);
#endif
  std::string known;
  for (const std::string& device : device_names()) {
    known += (known.empty() ? "\"" : ", \"") + device + "\"";
  }
  const bool wants_cuda = name.starts_with("cuda");
  throw DeviceError("[open_device] need one of " + known + "; got \"" + std::string(name) + "\"" +
                    (wants_cuda ? kMissing : ""));
}

const std::shared_ptr<Device>& default_device() {
  static const std::shared_ptr<Device> device = [] {
    const char* const name = std::getenv("DYNET_LIKE_DEVICE");
    return name == nullptr || *name == '\0' ? cpu_device() : open_device(name);
  }();
  return device;
}

}  // namespace dynet_like
