// <dynet/tensor.h> and <dynet/index-tensor.h>: tensors by hand.
#include <dynet/globals.h>
#include <dynet/init.h>
#include <dynet/tensor.h>

#include "dynet_like/core/errors.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;
using Floats = std::vector<float>;
using Positions = std::vector<std::ptrdiff_t>;

TEST(CompatTensorTest, IsAView) {
  Floats numbers = {1, 2, 3, 4};
  const Tensor view(Dim({2}, 2), numbers.data(), default_device, DeviceMempool::FXS);
  EXPECT_TRUE(view.is_valid());
  EXPECT_EQ(view.device, default_device);
  EXPECT_EQ(view.batch_ptr(1), numbers.data() + 2);
  EXPECT_EQ(as_vector(view.batch_elem(1)), (Floats{3, 4}));
  EXPECT_EQ(as_vector(view.batch_elems()[0]), (Floats{1, 2}));
  EXPECT_EQ(as_vector(view), numbers);
  EXPECT_EQ(as_scale_vector(view, 2), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(as_scalar(Tensor(Dim({1}), numbers.data())), 1);
  EXPECT_THROW(as_scalar(view), dynet_like::ShapeError);
  std::ostringstream out;
  out << view.batch_elem(0);
  EXPECT_EQ(out.str(), "1\n2\n");
  numbers[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(view.is_valid());
  EXPECT_EQ(Tensor().v, nullptr);
}

TEST(CompatTensorTest, RandomNumbersComeFromTheEngine) {
  reset_rng(7);
  const Floats first = {rand01(), rand_normal(), static_cast<float>(rand0n(1000))};
  reset_rng(7);
  const Floats second = {rand01(), rand_normal(), static_cast<float>(rand0n(1000))};
  EXPECT_EQ(first, second);
  EXPECT_EQ(rand0n(1), 0);
  EXPECT_THROW(rand0n(0), dynet_like::UsageError);
}

TEST(CompatTensorTest, IsFilled) {
  Tensor x(Dim({2, 2}));
  EXPECT_EQ(as_vector(x), (Floats{0, 0, 0, 0}));
  TensorTools::constant(x, 3);
  EXPECT_EQ(as_vector(x), (Floats{3, 3, 3, 3}));
  TensorTools::set_elements(x, {-2, 0.25f, 0.5f, 2});
  TensorTools::clip(x, -1, 1);
  EXPECT_EQ(as_vector(x), (Floats{-1, 0.25f, 0.5f, 1}));
  TensorTools::scale(x, 1, 3);
  EXPECT_EQ(as_vector(x), (Floats{-1, 1.5f, 2, 3}));
  TensorTools::uniform_to_bernoulli(x, 1.75f);
  EXPECT_EQ(as_vector(x), (Floats{1, 1, 0, 0}));
  TensorTools::identity(x);
  EXPECT_EQ(as_vector(x), (Floats{1, 0, 0, 1}));
  TensorTools::zero(x);
  EXPECT_EQ(as_vector(x), (Floats{0, 0, 0, 0}));
  TensorTools::set_elements(x, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(as_vector(x), (Floats{1, 2, 3, 4}));
  EXPECT_THROW(TensorTools::set_elements(x, {5, 6, 7}), dynet_like::ShapeError);
  EXPECT_EQ(as_vector(x), (Floats{1, 2, 3, 4}));
}

TEST(CompatTensorTest, IsDrawn) {
  Tensor x(Dim({10000}));
  const auto moments = [&] {
    double sum = 0, squares = 0;
    for (const float value : as_vector(x)) sum += value, squares += value * value;
    return std::pair(sum / 10000, squares / 10000);
  };
  TensorTools::randomize_normal(x, 1, 2);
  EXPECT_NEAR(moments().first, 1, 0.1);
  EXPECT_NEAR(moments().second, 5, 0.3);
  TensorTools::randomize_uniform(x, 2, 4);
  EXPECT_NEAR(moments().first, 3, 0.05);
  TensorTools::randomize_bernoulli(x, 0.25f, 4);
  EXPECT_NEAR(moments().first, 1, 0.1);
  EXPECT_NEAR(moments().second, 4, 0.4);
  Tensor q(Dim({3, 3}));
  TensorTools::randomize_orthonormal(q, 2);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      float product = 0;
      for (int k = 0; k < 3; ++k) product += q.v[3 * i + k] * q.v[3 * j + k];
      EXPECT_NEAR(product, i == j ? 4 : 0, 1e-5);
    }
  }
}

TEST(CompatTensorTest, ElementsAreReadAndWritten) {
  Tensor x(Dim({2, 2})), y(Dim({2, 2}));
  TensorTools::set_elements(x, {1, 2, 3, 4});
  EXPECT_EQ(TensorTools::access_element(x, 2), 3);
  EXPECT_EQ(TensorTools::access_element(x, Dim({1, 0})), 2);
  TensorTools::set_element(x, 0, 9);
  TensorTools::copy_element(x, 0, y, 3);
  EXPECT_EQ(as_vector(y), (Floats{0, 0, 0, 9}));
  TensorTools::copy_elements(y, x);
  TensorTools::accumulate(y, x);
  EXPECT_EQ(as_vector(y), (Floats{18, 4, 6, 8}));
  EXPECT_THROW(TensorTools::access_element(x, 4), dynet_like::UsageError);
  EXPECT_THROW(TensorTools::access_element(x, -1), dynet_like::UsageError);
  EXPECT_THROW(TensorTools::access_element(x, Dim({2, 0})), dynet_like::UsageError);
  Tensor z(Dim({3}));
  EXPECT_THROW(TensorTools::copy_elements(z, x), dynet_like::ShapeError);
}

TEST(CompatTensorTest, LargestElementsAndTheirPlaces) {
  Tensor x(Dim({3, 2}));
  TensorTools::set_elements(x, {1, 5, 3, 4, 4, 2});
  EXPECT_EQ(as_vector(TensorTools::argmax(x)), (Positions{1, 0}));
  EXPECT_EQ(as_vector(TensorTools::argmax(x, 1)), (Positions{1, 0, 0}));
  const auto [values, places] = TensorTools::topk(x, 0, 2);
  EXPECT_EQ(as_vector(values), (Floats{5, 3, 4, 4}));
  EXPECT_EQ(as_vector(places), (Positions{1, 2, 0, 1}));
  EXPECT_EQ(places.d, Dim({2, 2}));
  EXPECT_EQ(as_vector(TensorTools::argmax(x, 0, 2)), as_vector(places));
  EXPECT_EQ(as_scalar(TensorTools::argmax(x.batch_elem(0)).d.size() == 2 ? IndexTensor(Dim({1}))
                                                                         : IndexTensor(Dim({2}))),
            0);
  EXPECT_THROW(as_scalar(places), dynet_like::ShapeError);
  EXPECT_THROW(TensorTools::topk(x, 0, 4), dynet_like::UsageError);
  EXPECT_THROW(TensorTools::topk(x, 2, 1), dynet_like::ShapeError);
  Tensor m(Dim({2})), z(Dim({2}));
  TensorTools::logsumexp(x, m, z);
  EXPECT_EQ(as_vector(m), (Floats{5, 4}));
  EXPECT_NEAR(z.v[0], std::log(std::exp(1.0) + std::exp(5.0) + std::exp(3.0)), 1e-5);
  EXPECT_THROW(TensorTools::logsumexp(x, m, z, 1), dynet_like::ShapeError);
}

TEST(CompatTensorTest, SamplesFollowTheirDistribution) {
  reset_rng(3);
  Tensor x(Dim({3}));
  TensorTools::set_elements(x, {std::log(1.0f), std::log(2.0f), std::log(5.0f)});
  const Positions draws = as_vector(TensorTools::categorical_sample_log_prob(x, 0, 8000));
  int counts[3] = {};
  for (const std::ptrdiff_t draw : draws) ++counts[draw];
  EXPECT_NEAR(counts[0], 1000, 120);
  EXPECT_NEAR(counts[1], 2000, 160);
  EXPECT_NEAR(counts[2], 5000, 200);
}

}  // namespace
