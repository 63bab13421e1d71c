// DyNet's devices.h: names for where values live.
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

/// What functions take as their last argument: values live, and are computed, on the device of
/// their graph or collection, which is the default device when it is made.
class Device {
 public:
  virtual ~Device() = default;
  /// New random numbers for everything in this process.
  virtual void reset_rng(unsigned seed);

  int device_id = -1;
  DeviceType type = DeviceType::CPU;
  std::string name = "CPU";
  /// The device itself, opened when it is asked for; null: the one of the library's default_device.
  /// Throws DeviceError if it is not there.
  virtual std::shared_ptr<dynet_like::Device> core() { return core_; }
  void set_core(std::shared_ptr<dynet_like::Device> core) { core_ = std::move(core); }

 protected:
  Device() = default;

  std::shared_ptr<dynet_like::Device> core_;
};

class Device_CPU : public Device {};

/// A device that is not the CPU, by its name in the library: "cuda:0" is "GPU:0".
class Device_GPU : public Device {
 public:
  explicit Device_GPU(const std::string& library_name);
  std::shared_ptr<dynet_like::Device> core() override;

 private:
  std::string library_name_;
};

/// The devices by number and by name: the CPU, and after `initialize` those that are there.
class DeviceManager {
 public:
  DeviceManager();

  /// The manager owns it, until `clear`.
  void add(Device* device) { devices_.emplace_back(device); }
  /// Forgets all but the CPU, which is the default then.
  void clear();
  /// Adds the devices of this machine that are not known yet.
  void add_all();
  Device* get(std::size_t i);
  std::size_t num_devices() const { return devices_.size(); }
  /// The empty name is that of the default; "GPU:1" and "cuda:1" are the same. Throws DeviceError,
  /// which says what is missing, if there is none of this name.
  Device* get_global_device(const std::string& name);

 private:
  Device* find(const std::string& dynet_name) const;

  std::vector<std::unique_ptr<Device>> devices_;
};

DeviceManager* get_device_manager();
Device* get_global_device(const std::string& name);
/// The values live on the heap and grow as they must: nothing is printed.
inline void show_pool_mem_info() {}

}  // namespace dynet
