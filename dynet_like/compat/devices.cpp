// Devices, under DyNet's names.
#include "dynet/devices.h"

#include <algorithm>
#include <cctype>

#include "dynet/globals.h"
#include "dynet/init.h"
#include "dynet_like/core/errors.h"

namespace dynet {

namespace {

constexpr std::string_view kOurs = "cuda:", kTheirs = "GPU:";

std::string with_prefix(std::string_view name, std::string_view old_prefix,
                        std::string_view new_prefix) {
  if (!name.starts_with(old_prefix)) return std::string(name);
  return std::string(new_prefix) + std::string(name.substr(old_prefix.size()));
}

// "GPU:0" for "cuda:0", "CUDA-HOST" for "cuda-host".
std::string dynet_name(const std::string& name) {
  std::string upper = with_prefix(name, kOurs, kTheirs);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return with_prefix(upper, "CUDA:", kTheirs);
}

std::string library_name(const std::string& name) {
  std::string lower = with_prefix(dynet_name(name), kTheirs, kOurs);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

}  // namespace

std::shared_ptr<dynet_like::Device> detail::device() {
  auto core = default_device == nullptr ? nullptr : default_device->core();
  return core == nullptr ? dynet_like::default_device() : core;
}

void Device::reset_rng(unsigned seed) { dynet::reset_rng(seed); }

Device_GPU::Device_GPU(const std::string& library_name) : library_name_(library_name) {
  name = dynet_name(library_name);
  type = DeviceType::GPU;
  if (name.starts_with(kTheirs)) device_id = std::atoi(name.c_str() + kTheirs.size());
}
std::shared_ptr<dynet_like::Device> Device_GPU::core() {
  if (core_ == nullptr) core_ = dynet_like::open_device(library_name_);
  return core_;
}

// The first device is the library's default_device, which the environment may choose, until a
// program asks for the CPU by name.
DeviceManager::DeviceManager() { add(new Device_CPU); }

Device* DeviceManager::get(std::size_t i) {
  if (i >= num_devices()) {
    throw dynet_like::UsageError("[DeviceManager] need a device below " +
                                 std::to_string(num_devices()) + "; got " + std::to_string(i));
  }
  return devices_[i].get();
}

void DeviceManager::clear() {
  devices_.resize(1);
  default_device = get(0);
}

void DeviceManager::add_all() {
  for (const std::string& name : dynet_like::device_names()) {
    if (name != "cpu" && find(dynet_name(name)) == nullptr) add(new Device_GPU(name));
  }
}

Device* DeviceManager::find(const std::string& dynet_name) const {
  const auto found = std::find_if(devices_.begin(), devices_.end(),
                                  [&](const auto& device) { return device->name == dynet_name; });
  return found == devices_.end() ? nullptr : found->get();
}

Device* DeviceManager::get_global_device(const std::string& name) {
  if (name.empty()) return default_device;
  if (Device* const device = find(name); device != nullptr) return device;
  if (Device* const device = find(dynet_name(name)); device != nullptr) return device;
  dynet_like::open_device(library_name(name));  // throws, and says what is missing
  add_all();
  return find(dynet_name(name));
}

DeviceManager* get_device_manager() {
  static auto* const manager = new DeviceManager;  // programs may use it until the process ends
  return manager;
}
Device* get_global_device(const std::string& name) {
  return get_device_manager()->get_global_device(name);
}

}  // namespace dynet
