// DyNet's devices.h: names for where values live. There is one device, the CPU.
#pragma once

#include <cstddef>
#include <string>

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

/// The devices by number and by name; the first is the default.
class DeviceManager {
 public:
  Device* get(std::size_t i);
  std::size_t num_devices() const { return 1; }
  /// Throws UsageError for a name other than "CPU" and the empty one, which is the default.
  Device* get_global_device(const std::string& name);
};

DeviceManager* get_device_manager();
/// The values live on the heap and grow as they must: nothing is printed.
inline void show_pool_mem_info() {}

}  // namespace dynet
