// The device: memory, copies, and one list of commands for all users.
#include "dynet_like/device/cuda/cuda_device.h"

#include <algorithm>
#include <map>

#include "dynet_like/core/errors.h"

namespace dynet_like::detail::cuda {

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

// Waiting commands may use the memory: they run before it is freed, or it is freed later.
class DeviceMemory final : public MemorySource {
 public:
  explicit DeviceMemory(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::byte* allocate(std::size_t size) override {
    const Lock lock(shared_->mutex);
    // `free` must not need memory of this process.
    if (freed_.capacity() < in_use_ + 1) freed_.reserve(2 * in_use_ + 16);
    auto* const memory = static_cast<std::byte*>(shared_->runtime.allocate(size));
    ++in_use_;
    return memory;
  }
  void free(std::byte* memory, std::size_t) noexcept override {
    const Lock lock(shared_->mutex);
    freed_.push_back(memory);
    try {
      shared_->commands.submit();
    } catch (...) {  // the next call will report the same error
      return;
    }
    for (std::byte* const freed : freed_) shared_->runtime.free(freed);
    in_use_ -= freed_.size();
    freed_.clear();
  }
  std::size_t gap() const override { return Loans::kGap; }
  void lend(const std::byte* memory, std::size_t size) override {
    shared_->runtime.loans().lend(memory, size);
  }
  void take_back(const std::byte* memory, std::size_t size) noexcept override {
    shared_->runtime.loans().take_back(memory, size);
  }

 private:
  std::shared_ptr<Shared> shared_;
  std::size_t in_use_ = 0;
  std::vector<std::byte*> freed_;  // has room for all blocks in use
};

class OwnMemory final : public MemorySource {
 public:
  explicit OwnMemory(Runtime& runtime) : runtime_(runtime) {}
  std::byte* allocate(std::size_t size) override {
    return static_cast<std::byte*>(runtime_.allocate(size));
  }
  void free(std::byte* memory, std::size_t) noexcept override { runtime_.free(memory); }
  std::size_t gap() const override { return Loans::kGap; }
  void lend(const std::byte* memory, std::size_t size) override {
    runtime_.loans().lend(memory, size);
  }
  void take_back(const std::byte* memory, std::size_t size) noexcept override {
    runtime_.loans().take_back(memory, size);
  }

 private:
  Runtime& runtime_;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(std::string name, unsigned index)
      : name_(std::move(name)),
        shared_(std::make_shared<Shared>(index)),
        memory_(std::make_shared<DeviceMemory>(shared_)),
        updates_(make_updates(shared_)) {}

  std::string name() const override { return name_; }
  std::shared_ptr<MemorySource> memory() override { return memory_; }
  std::unique_ptr<Queue> make_queue(std::shared_ptr<ThreadPool>) override {
    return cuda::make_queue(shared_);
  }
  const Updates& updates() const override { return *updates_; }

  void write(void* to, const void* from, std::size_t size) override {
    const Lock lock(shared_->mutex);
    shared_->commands.write(to, from, size);
  }
  void read(void* to, const void* from, std::size_t size) override {
    if (size == 0) return;
    const Lock lock(shared_->mutex);
    shared_->commands.submit();
    shared_->runtime.copy_to_host(to, from, size);
    shared_->runtime.wait();
  }
  std::unique_ptr<Reading> make_reading() override { return cuda::make_reading(shared_); }
  void copy(void* to, const void* from, std::size_t size) override {
    const Lock lock(shared_->mutex);
    shared_->commands.copy(to, from, size);
  }
  void zero(void* to, std::size_t size) override {
    const Lock lock(shared_->mutex);
    shared_->commands.zero(to, size);
  }
  void submit() override {
    const Lock lock(shared_->mutex);
    shared_->commands.submit();
  }
  void set_large_products(LargeProducts how) override {
    const Lock lock(shared_->mutex);
    if (how == LargeProducts::library) shared_->runtime.open_products();
    shared_->commands.set_large_products(how);
  }
  void measure_busy_time(bool wanted) override {
    const Lock lock(shared_->mutex);
    shared_->commands.measure_busy_time(wanted);
  }
  DeviceCounts counts() const override {
    const Lock lock(shared_->mutex);
    DeviceCounts counts = shared_->runtime.counts();
    counts.fallbacks = shared_->fallbacks;
    counts.product_terms = shared_->commands.product_terms();
    counts.meetings = shared_->commands.meetings();
    counts.busy_seconds = shared_->commands.busy_seconds();
    return counts;
  }

 private:
  const std::string name_;
  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<DeviceMemory> memory_;
  const std::unique_ptr<Updates> updates_;
};

}  // namespace

std::shared_ptr<MemorySource> own_memory(Runtime& runtime) {
  return std::make_shared<OwnMemory>(runtime);
}

Shared::Shared(unsigned device) : runtime(device), commands(runtime, own_memory(runtime)) {}

const void* Shared::ones(DType dtype, std::size_t size) {
  std::vector<Block>& blocks = ones_[static_cast<int>(dtype)];
  if (blocks.empty() || blocks.back().size() < size * size_of(dtype)) {
    const std::size_t count = std::max<std::size_t>(2 * size, 1024);
    Block block(count * size_of(dtype), own_memory(runtime));
    if (dtype == DType::f32) {
      const std::vector<float> ones(count, 1.0f);
      commands.write(block.data(), ones.data(), block.size());
    } else {
      const std::vector<double> ones(count, 1.0);
      commands.write(block.data(), ones.data(), block.size());
    }
    blocks.push_back(std::move(block));
  }
  return blocks.back().data();
}

std::vector<std::string> device_names() { return Runtime::names(); }

std::shared_ptr<Device> open_device(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Device>> open;
  const std::vector<std::string> names = Runtime::names();
  std::string full(name);
  if (full == "cuda") full = "cuda:0";
  const auto found = std::find(names.begin(), names.end(), full);
  if (found == names.end()) {
    std::string known = "\"cpu\"";
    for (const std::string& device : names) known += ", \"" + device + "\"";
    const std::string why = names.empty() ? ": " + Runtime::why_none() : "";
    throw DeviceError("[open_device] need one of " + known + "; got \"" + std::string(name) + "\"" +
                      why);
  }
  const std::lock_guard lock(mutex);
  std::shared_ptr<Device> device = open[full].lock();
  if (device == nullptr) {
    device = std::make_shared<CudaDevice>(full, static_cast<unsigned>(found - names.begin()));
    open[full] = device;
  }
  return device;
}

}  // namespace dynet_like::detail::cuda
