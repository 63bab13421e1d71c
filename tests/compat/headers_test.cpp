// All headers of DyNet beside each other; tests of those that have none of their own.
// <dynet/nodes.h> includes its parts.
#include <dynet/aligned-mem-pool.h>
#include <dynet/c2w.h>
#include <dynet/cell-builder.h>
#include <dynet/cfsm-builder.h>
#include <dynet/cpu-matrix-multiply.h>
#include <dynet/cuda-matrix-multiply.h>
#include <dynet/cuda.h>
#include <dynet/cudnn-ops.h>
#include <dynet/deep-lstm.h>
#include <dynet/device-structs.h>
#include <dynet/devices.h>
#include <dynet/dict.h>
#include <dynet/dim.h>
#include <dynet/dynet-helper.h>
#include <dynet/dynet.h>
#include <dynet/except.h>
#include <dynet/exec.h>
#include <dynet/expr.h>
#include <dynet/fast-lstm.h>
#include <dynet/functors.h>
#include <dynet/globals.h>
#include <dynet/gpu-kernels.h>
#include <dynet/gpu-ops.h>
#include <dynet/grad-check.h>
#include <dynet/graph.h>
#include <dynet/gru.h>
#include <dynet/hsm-builder.h>
#include <dynet/index-tensor.h>
#include <dynet/init.h>
#include <dynet/io.h>
#include <dynet/lstm.h>
#include <dynet/matrix-multiply.h>
#include <dynet/mem.h>
#include <dynet/model.h>
#include <dynet/mp.h>
#include <dynet/nodes-def-macros.h>
#include <dynet/nodes-impl-macros.h>
#include <dynet/nodes.h>
#include <dynet/op-helper.h>
#include <dynet/param-init.h>
#include <dynet/param-nodes.h>
#include <dynet/pretrain.h>
#include <dynet/rnn-state-machine.h>
#include <dynet/rnn.h>
#include <dynet/saxe-init.h>
#include <dynet/shadow-params.h>
#include <dynet/sig.h>
#include <dynet/simd-functors.h>
#include <dynet/str-util.h>
#include <dynet/tensor-eigen.h>
#include <dynet/tensor.h>
#include <dynet/timing.h>
#include <dynet/training.h>
#include <dynet/treelstm.h>
#include <dynet/weight-decay.h>
#include <thread>

#include "dynet_like/core/errors.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;

TEST(CompatHeadersTest, ShadowsHaveTheShapesOfParameters) {
  ParameterCollection model;
  model.add_parameters({2, 3});
  model.add_lookup_parameters(4, {2});
  std::vector<ShadowParameters> of_parameters;
  std::vector<ShadowLookupParameters> of_tables;
  EXPECT_EQ(allocate_shadow_parameters(model, 0, of_parameters), 1u);
  EXPECT_EQ(allocate_shadow_lookup_parameters(model, 0, of_tables), 1u);
  model.add_parameters({5});
  EXPECT_EQ(allocate_shadow_parameters(model, 1, of_parameters), 2u);
  EXPECT_EQ(of_parameters[0].h.d, Dim({2, 3}));
  EXPECT_EQ(of_parameters[1].h.d, Dim({5}));
  EXPECT_EQ(as_vector(of_parameters[1].h), std::vector<float>(5));
  EXPECT_EQ(of_tables[0].all_h.d, Dim({2, 4}));
  ASSERT_EQ(of_tables[0].h.size(), 4u);
  of_tables[0].h[3].v[1] = 7;
  EXPECT_EQ(of_tables[0].all_h.v[7], 7);
}

TEST(CompatHeadersTest, ThereIsATimerOfTheProcess) {
  timer.start("reading");
  timer.stop("reading");
  testing::internal::CaptureStderr();
  timer.show();
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("reading"), 0u);
}

void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

TEST(CompatTimingTest, TimersPrintWhenTheyAreDestroyed) {
  testing::internal::CaptureStderr();
  auto timer = std::make_unique<Timer>("completed in");
  wait();
  timer.reset();
  std::istringstream line(testing::internal::GetCapturedStderr());
  std::string completed, in, unit;
  double milliseconds = 0;
  line >> completed >> in >> milliseconds >> unit;
  EXPECT_EQ(completed + ' ' + in + ' ' + unit, "[completed in ms]");
  EXPECT_GE(milliseconds, 5);
}

TEST(CompatTimingTest, WatchesRunFromTheBeginning) {
  const Timing watch;
  wait();
  const double first = watch.stop();
  EXPECT_GE(first, 5);
  EXPECT_GE(watch.stop(), first);
}

TEST(CompatTimingTest, NamedTimesAddUp) {
  NamedTimer timer;
  for (int i = 0; i < 3; ++i) {
    timer.start("work");
    wait();
    timer.stop("work");
  }
  EXPECT_THROW(timer.stop("work"), dynet_like::UsageError);
  testing::internal::CaptureStderr();
  timer.show();
  std::istringstream line(testing::internal::GetCapturedStderr());
  std::string name;
  double milliseconds = 0;
  line >> name >> milliseconds;
  EXPECT_EQ(name, "work");
  EXPECT_GE(milliseconds, 15);
}

TEST(CompatTimingTest, BeginningsOfStrings) {
  EXPECT_TRUE(startswith("--dynet-seed", "--dynet"));
  EXPECT_FALSE(startswith("-d", "--"));
}

}  // namespace
