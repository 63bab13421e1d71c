// The CPU as a device: its memory is that of this process.
#include <cstring>

#include "dynet_like/device/device.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/device/queue.h"

namespace dynet_like::detail {

namespace {

class CpuDevice final : public Device {
 public:
  std::string name() const override { return "cpu"; }
  std::shared_ptr<MemorySource> memory() override { return nullptr; }
  std::unique_ptr<Queue> make_queue(std::shared_ptr<ThreadPool> pool) override {
    return make_cpu_queue(std::move(pool));
  }
  const Updates& updates() const override { return cpu_updates(); }
  void write(void* to, const void* from, std::size_t size) override { copy(to, from, size); }
  void read(void* to, const void* from, std::size_t size) override { copy(to, from, size); }
  void copy(void* to, const void* from, std::size_t size) override {
    if (size > 0) std::memcpy(to, from, size);
  }
  void zero(void* to, std::size_t size) override {
    if (size > 0) std::memset(to, 0, size);
  }
};

}  // namespace

}  // namespace dynet_like::detail

namespace dynet_like {

const std::shared_ptr<Device>& cpu_device() {
  static const std::shared_ptr<Device> device = std::make_shared<detail::CpuDevice>();
  return device;
}

}  // namespace dynet_like
