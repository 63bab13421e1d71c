// DyNet's devices.h: names of devices, where values live.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/device/device.h"

namespace dynet {

enum class DeviceType { CPU, GPU };
enum class DeviceMempool { FXS = 0, DEDFS = 1, PS = 2, SCS = 3, NONE = 4 };

/// Functions accept a device as their last argument, but it has no effect: values live, and are
/// computed, on the device of their graph or collection, the default device when that was made.
class Device {
 public:
  virtual ~Device() = default;
  /// Seeds all random numbers of this process anew.
  virtual void reset_rng(unsigned seed);

  int device_id = -1;
  DeviceType type = DeviceType::CPU;
  std::string name = "CPU";
  /// The library's device, which this opens; null for the library's default_device. Throws
  /// DeviceError if it is not there.
  virtual std::shared_ptr<dynet_like::Device> core() { return core_; }
  void set_core(std::shared_ptr<dynet_like::Device> core) { core_ = std::move(core); }

 protected:
  Device() = default;

  std::shared_ptr<dynet_like::Device> core_;
};

class Device_CPU : public Device {};

/// A device that is not the CPU. The library's "cuda:0" is "GPU:0" here.
class Device_GPU : public Device {
 public:
  explicit Device_GPU(const std::string& library_name);
  std::shared_ptr<dynet_like::Device> core() override;

 private:
  std::string library_name_;
};

/// Devices by number and by name: the CPU, and after `initialize` all that the machine has.
class DeviceManager {
 public:
  DeviceManager();

  /// The manager owns it, until `clear`.
  void add(Device* device) { devices_.emplace_back(device); }
  /// Removes all but the CPU, which becomes the default.
  void clear();
  /// Adds all devices of this machine that are not here yet.
  void add_all();
  Device* get(std::size_t i);
  std::size_t num_devices() const { return devices_.size(); }
  /// "" is the default device; "GPU:1" and "cuda:1" are the same. Throws DeviceError, which says
  /// what is missing, if there is no such device.
  Device* get_global_device(const std::string& name);

 private:
  Device* find(const std::string& dynet_name) const;

  std::vector<std::unique_ptr<Device>> devices_;
};

DeviceManager* get_device_manager();
Device* get_global_device(const std::string& name);
/// Prints nothing: values live on the heap, and there are no pools.
inline void show_pool_mem_info() {}

}  // namespace dynet
