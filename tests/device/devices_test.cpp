// Every device that there is does what a device does; where there is none but the CPU, that is
// said.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Floats = std::vector<float>;

class DevicesTest : public ::testing::Test {
 protected:
  // All but the CPU.
  std::vector<std::string> names_ = [] {
    std::vector<std::string> names = device_names();
    names.erase(names.begin());
    return names;
  }();
  void SetUp() override {
    if (!names_.empty()) return;
    GTEST_SKIP() << message_of<DeviceError>([] { open_device("cuda"); });
  }
};

TEST(DeviceNamesTest, AreThoseThatCanBeOpened) {
  EXPECT_EQ(device_names().at(0), "cpu");
  for (const std::string& name : device_names()) EXPECT_EQ(open_device(name)->name(), name);
  const std::string message = message_of<DeviceError>([] { open_device("cuda:77"); });
  EXPECT_TRUE(message.starts_with("[open_device] need one of \"cpu\"")) << message;
  EXPECT_NE(message.find("; got \"cuda:77\""), std::string::npos) << message;
}

TEST_F(DevicesTest, MoveBytes) {
  for (const std::string& name : names_) {
    const std::shared_ptr<Device> device = open_device(name);
    const Floats numbers = {1, 2, 3, 4};
    const std::size_t size = numbers.size() * sizeof(float);
    const Block here(size, device->memory()), there(size, device->memory());
    device->write(here.data(), numbers.data(), size);
    device->zero(there.data(), size);
    device->copy(there.data() + sizeof(float), here.data() + sizeof(float), 2 * sizeof(float));
    Floats got(numbers.size());
    device->read(got.data(), there.data(), size);
    EXPECT_EQ(got, (Floats{0, 2, 3, 0})) << name;
    EXPECT_GT(device->counts().synchronisations, 0u) << name;
    EXPECT_GE(device->counts().bytes_in_use, 2 * size) << name;
  }
}

TEST_F(DevicesTest, SayWhatTheyDoNotHave) {
  for (const std::string& name : names_) {
    const std::shared_ptr<Device> device = open_device(name);
    const std::string message = message_of<DeviceError>(
        [&] { static_cast<void>(Block(std::size_t{1} << 50, device->memory())); });
    EXPECT_NE(message.find("need 1125899906842624 bytes"), std::string::npos) << message;
    EXPECT_NE(message.find("in use"), std::string::npos) << message;
    const Block small(1 << 10, device->memory());  // and it goes on
    device->zero(small.data(), small.size());
  }
}

// The sum of squares of tanh(W x) on a device, and the gradient of W.
Floats loss_and_gradient(const std::shared_ptr<Device>& device) {
  ParameterCollection model(1, DType::f32, device);
  const Parameter w =
      model.add_parameters({2, 3}, ParameterInitFromVector({0.1f, -0.2f, 0.3f, 0.4f, -0.5f, 0.6f}));
  Minibatch batch({.device = device});
  for (const float x : {0.5f, 1.0f, 2.0f}) {
    ComputationGraph& graph = batch.new_graph();
    batch.add_loss(
        sum_elems(square(tanh(parameter(graph, w) * input(graph, Dim({3}), {x, 1, -x})))));
  }
  Floats result = {static_cast<float>(batch.forward())};
  for (const float number : batch.backward().values(w)) result.push_back(number);
  return result;
}

TEST_F(DevicesTest, ComputeWhatTheCpuComputes) {
  const Floats expected = loss_and_gradient(cpu_device());
  for (const std::string& name : names_) {
    const Floats got = loss_and_gradient(open_device(name));
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << name;
    EXPECT_EQ(loss_and_gradient(open_device(name)), got) << name;  // the same bits again
  }
}

}  // namespace
}  // namespace dynet_like
