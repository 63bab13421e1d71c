// A fixture for tests of single kernels and commands: numbers on a device.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "dynet_like/device/cuda/cuda_device.h"
#include "tests/support/cuda_device.h"
#include "tests/support/same_bytes.h"

namespace dynet_like::detail::cuda {

template <class T>
class CudaMemoryTest : public ::testing::Test {
 protected:
  using Numbers = std::vector<T>;
  using Places = std::vector<const void*>;
  static constexpr DType kType = std::is_same_v<T, float> ? DType::f32 : DType::f64;

  ~CudaMemoryTest() override {
    shared_->commands.submit();
    for (void* memory : memory_) shared_->runtime.free(memory);
  }

  Numbers draw(std::size_t n) {
    Numbers numbers(n);
    for (T& number : numbers) number = static_cast<T>(2 * random_.uniform() - 1);
    return numbers;
  }
  // `shift`: how many elements beyond an aligned address.
  T* make(const Numbers& numbers, std::size_t shift = 0) {
    memory_.push_back(shared_->runtime.allocate((numbers.size() + shift) * sizeof(T)));
    T* const there = static_cast<T*>(memory_.back()) + shift;
    shared_->runtime.copy_to_device(there, numbers.data(), numbers.size() * sizeof(T));
    shared_->runtime.wait();
    return there;
  }
  Numbers read(const T* from, std::size_t size) {
    shared_->commands.submit();
    Numbers numbers(size);
    shared_->runtime.copy_to_host(numbers.data(), from, size * sizeof(T));
    shared_->runtime.wait();
    return numbers;
  }
  void add(T* sum, std::size_t size, const Places& addends, SumStart start = SumStart::there) {
    shared_->commands.add_all(kType, sum, size, {addends.data(), nullptr, addends.size()}, start);
  }
  std::uint64_t launches() {
    shared_->commands.submit();
    return shared_->runtime.counts().launches;
  }
  // For a sum of `terms` numbers or products in [-1, 1]. The sum and its rounding errors grow like
  // the square root of `terms`. A lost term changes it far more.
  static double tolerance(std::size_t terms) {
    const double root = std::sqrt(static_cast<double>(terms)) + 1;
    return std::numeric_limits<T>::epsilon() * root * (4 + 2 * root);
  }

  std::shared_ptr<Shared> shared_ = open_first();
  std::unique_ptr<Queue> queue_ = make_queue(shared_);
  Random random_{7};
  std::vector<void*> memory_;

 private:
  static std::shared_ptr<Shared> open_first() {
    const std::string why = Runtime::why_none();
    if (!why.empty()) throw DeviceError("need a GPU; got none: " + why);
    return std::make_shared<Shared>(0);
  }
};

}  // namespace dynet_like::detail::cuda
