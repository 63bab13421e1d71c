// DyNet's devices.h: names for where values live. There is one device, the CPU.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace dynet {

enum class DeviceType { CPU, GPU };
enum class DeviceMempool { FXS = 0, DEDFS = 1, PS = 2, SCS = 3, NONE = 4 };

/// What functions take as their last argument; all of them compute on the CPU.
class Device {
 public:
  virtual ~Device() = default;
  /// New random numbers for everything in this process.
  virtual void reset_rng(unsigned seed);

  int device_id = -1;
  DeviceType type = DeviceType::CPU;
  std::string name = "CPU";

 protected:
  Device() = default;
};

class Device_CPU : public Device {};

/// The devices by number and by name; the first is the CPU.
class DeviceManager {
 public:
  DeviceManager();

  /// Another name for the CPU. The manager owns it, until `clear`.
  void add(Device* device) { devices_.emplace_back(device); }
  /// Forgets all but the CPU.
  void clear() { devices_.resize(1); }
  Device* get(std::size_t i);
  std::size_t num_devices() const { return devices_.size(); }
  /// The empty name is that of the default. Throws DeviceError if there is none of this name.
  Device* get_global_device(const std::string& name);

 private:
  std::vector<std::unique_ptr<Device>> devices_;
};

DeviceManager* get_device_manager();
Device* get_global_device(const std::string& name);
/// The values live on the heap and grow as they must: nothing is printed.
inline void show_pool_mem_info() {}

}  // namespace dynet
