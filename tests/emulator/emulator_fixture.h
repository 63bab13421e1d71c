// A fixture for kernels and calls that are wrong on purpose.
#pragma once

#include <string>
#include <type_traits>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/host/faults.h"
#include "dynet_like/device/cuda/launch.h"
#include "tests/support/cuda_memory_fixture.h"
#include "tests/support/message_of.h"

#define EXPECT_HAS(text, part) EXPECT_TRUE(mentions((text), part)) << (text)

namespace dynet_like::detail::cuda {

inline const std::string kNothing = "nothing was thrown";

class EmulatorTest : public CudaMemoryTest<float> {
 protected:
  ~EmulatorTest() override { host::work_at_random(false); }

  template <class... Parameters>
  void launch(const Shape& shape, Threads threads, void (*kernel)(Parameters...),
              std::type_identity_t<Parameters>... arguments) {
    cuda::launch<Parameters...>(runtime_, shape, threads, kernel, arguments...);
  }
  /// The error of a call, or of waiting for what was asked for before and in it.
  template <class Call>
  std::string error_of(const Call& call) {
    return message_of<DeviceError>([&] {
      call();
      commands_.submit();
      runtime_.wait();
    });
  }
  std::string error_of_wait() {
    return error_of([] {});
  }

  Runtime& runtime_ = shared_->runtime;
  Commands& commands_ = shared_->commands;
};

}  // namespace dynet_like::detail::cuda
