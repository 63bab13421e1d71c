// The headers of DyNet that have no test of their own, beside all others.
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
#include <dynet/nodes-activations.h>
#include <dynet/nodes-affinetransform.h>
#include <dynet/nodes-argmax.h>
#include <dynet/nodes-arith-const.h>
#include <dynet/nodes-arith-cwise.h>
#include <dynet/nodes-arith-scalar.h>
#include <dynet/nodes-arith-sum.h>
#include <dynet/nodes-arith-unary.h>
#include <dynet/nodes-concat.h>
#include <dynet/nodes-const.h>
#include <dynet/nodes-contract.h>
#include <dynet/nodes-conv.h>
#include <dynet/nodes-conv2d.h>
#include <dynet/nodes-def-macros.h>
#include <dynet/nodes-dropout.h>
#include <dynet/nodes-flow.h>
#include <dynet/nodes-hinge.h>
#include <dynet/nodes-impl-macros.h>
#include <dynet/nodes-linalg.h>
#include <dynet/nodes-logsumexp.h>
#include <dynet/nodes-losses.h>
#include <dynet/nodes-lstm.h>
#include <dynet/nodes-matrixmultiply.h>
#include <dynet/nodes-maxpooling2d.h>
#include <dynet/nodes-minmax.h>
#include <dynet/nodes-moments.h>
#include <dynet/nodes-normalization.h>
#include <dynet/nodes-norms.h>
#include <dynet/nodes-pickneglogsoftmax.h>
#include <dynet/nodes-random.h>
#include <dynet/nodes-rounding.h>
#include <dynet/nodes-select.h>
#include <dynet/nodes-similarities.h>
#include <dynet/nodes-softmaxes.h>
#include <dynet/nodes-to-device.h>
#include <dynet/nodes-trig.h>
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
#include <gtest/gtest.h>

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

}  // namespace
