// Commands that fail: an error of an argument or of a kernel leaves the rest as it should be.
#include <vector>

#include "dynet_like/core/errors.h"
#include "tests/support/cuda_memory_fixture.h"
#include "tests/support/message_of.h"

namespace dynet_like::detail::cuda {
namespace {

using Floats = std::vector<float>;

__global__ void fail(const float*) { throw DeviceError("a kernel failed"); }

class FailingCommandsTest : public CudaMemoryTest<float> {
 protected:
  Runtime& runtime_ = shared_->runtime;
  Commands& commands_ = shared_->commands;
};

TEST_F(FailingCommandsTest, AnErrorLeavesItUsable) {
  float *const a = make({1, 2}), *const b = make({10, 20});
  for (int i = 0; i < 3; ++i) {
    add(a, 2, {b});
    commands_.launch({1, 1, 1, 1}, fail, a);
    commands_.zero(a, 2 * sizeof(float));  // comes after it, so it does not happen
    const std::string error = message_of<DeviceError>([&] {
      commands_.submit();
      runtime_.wait();
    });
    EXPECT_NE(error.find("a kernel failed"), std::string::npos) << error;
    const std::uint64_t before = runtime_.counts().launches;
    EXPECT_EQ(launches(), before);
  }
  EXPECT_EQ(read(a, 2), (Floats{31, 62}));
  add(a, 2, {b});
  EXPECT_EQ(read(a, 2), (Floats{41, 82}));
}

TEST_F(FailingCommandsTest, ErrorsOfArgumentsComeBeforeTheDevice) {
  float* const a = make({1});
  const float here = 1;
  add(a, 1, {a});
  commands_.copy(a, &here, sizeof(float));
  EXPECT_THROW(commands_.submit(), DeviceError);
  EXPECT_EQ(read(a, 1), Floats{2});
}

}  // namespace
}  // namespace dynet_like::detail::cuda
