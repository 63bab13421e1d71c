// Every kernel for GPUs against the CPU's, called through queues: values and gradients agree within
// a bound per op, and an item has the bits that it has alone and every time. Items begin at aligned
// addresses and at others.
//
// Bounds are in epsilon (2^-23, 2^-52): of the number itself for values of elementwise ops, where
// functions differ in the last places; else of the largest number of the item, which is taken to be
// at least the root of the number of elements that may have been added up, since devices add in
// different orders.
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/device.h"
#include "dynet_like/ops/special_formulas.h"
#include "tests/ops/cases.h"
#include "tests/support/cuda_device.h"
#include "tests/support/precompiled.h"
#include "tests/support/same_bytes.h"

namespace dynet_like::op_cases {
namespace {

double bound_of(const Op& op) {
  // Functions have up to 2.75 ulp on the CPU and 2 on a GPU, as the CUDA Programming Guide says,
  // and slopes are products of them. In the second row there are 3 or 4 on a GPU; erfc, of which
  // gelu is made, has 5.
  static const std::pair<double, std::string_view> bounds[] = {
      {8,
       " exp tanh tanh_of_sum sin cos asin acos atan cosh erf sigmoid log_sigmoid silu gelu_tanh "},
      {8, " softplus elu selu divergence_term "},
      {16, " gelu sinh asinh atanh tan acosh pow "},
      {16, " lstm_cell gru_cell layer_norm rms_norm "},  // sums of sums go through more functions
      {16, " cumsum hinge "},    // one chain of additions on the CPU, a tree of them here
      {64, " inverse logdet "},  // errors grow with the condition of the matrix
      {256, " poisson_loss "},   // a difference of numbers that are larger
      {0, " dropout random_uniform random_normal random_bernoulli random_gumbel "}};
  const std::string name = ' ' + std::string(op.name) + ' ';
  for (const auto& [bound, names] : bounds) {
    if (names.find(name) != names.npos) return bound;
  }
  return 4;
}

/// Lines so long that blocks of threads share them, and shapes that stretch over many elements.
std::vector<OpCall> long_calls() {
  const auto line = [](const Op& op, std::vector<std::uint32_t> attributes = {0},
                       std::vector<double> reals = {}) {
    return OpCall{&op,
                  {{Dim({1500})}, std::move(attributes), std::move(reals)},
                  std::string(op.name) + "_long"};
  };
  std::vector<OpCall> calls = {
      line(ops::softmax),       line(ops::log_softmax),   line(ops::cross_entropy, {}),
      line(ops::sum_dim),       line(ops::mean_dim),      line(ops::norm_dim),
      line(ops::rms_dim),       line(ops::max_dim),       line(ops::argmax),
      line(ops::cumsum),        line(ops::logsumexp_dim), line(ops::hinge, {0, 1}, {1.0}),
      line(ops::select, {0, 3})};
  // Each element is compared with all others.
  calls.push_back({&ops::kmax_pooling, {{Dim({300})}, {0, 3}}, "kmax_pooling_long"});
  const Op& product = elementwise<formulas::Cmult>;
  calls.push_back({&product, {{Dim({1500}), Dim({1})}}, "cmult_long"});
  calls.push_back({&product, {{Dim({3, 40}), Dim({1, 40})}}, "cmult_rows"});
  calls.push_back({&product, {{Dim({40}), Dim({40, 30})}}, "cmult_columns"});
  calls.push_back({&product, {{Dim({1, 3, 1, 2}), Dim({4, 3, 5})}}, "cmult_planes"});
  for (const unsigned d : {0u, 1u}) {
    const std::string name = "_matrix_" + std::to_string(d);
    calls.push_back({&ops::softmax, {{Dim({40, 20})}, {d}}, "softmax" + name});
    calls.push_back({&ops::max_dim, {{Dim({9, 20})}, {d}}, "max_dim" + name});
    calls.push_back({&ops::cumsum, {{Dim({9, 70})}, {d}}, "cumsum" + name});
  }
  return calls;
}

/// A number of items, and how many launches the forward kernel takes then, or 0.
struct Batch {
  std::size_t n;
  std::uint64_t launches = 0;
};
struct KernelCase : OpCall {
  std::vector<Batch> batches = {{3}, {17}};
};

/// b + W1 x1 + W2 x2 for so many columns per item.
KernelCase affine_map(unsigned rows, unsigned inner, unsigned columns, std::vector<Batch> batches) {
  const unsigned other = inner / 2 + 1;
  const std::string name = "affine_transform_" + std::to_string(rows) + "_" +
                           std::to_string(inner) + "_" + std::to_string(columns);
  return {{&ops::affine_transform,
           {{Dim({rows}), Dim({rows, inner}), Dim({inner, columns}), Dim({rows, other}),
             Dim({other, columns})}},
           name},
          std::move(batches)};
}
KernelCase lstm(unsigned children, unsigned hidden, unsigned inputs, std::vector<Batch> batches) {
  const unsigned rows = (children + 3) * hidden;
  std::vector<Dim> dims = {Dim({rows})};
  dims.insert(dims.end(), children, Dim({hidden}));
  for (const unsigned inner : {hidden, inputs}) {
    dims.insert(dims.end(), {Dim({rows, inner}), Dim({inner})});
  }
  return {{&ops::lstm_cell, {std::move(dims), {children, 0}}, "lstm_" + std::to_string(rows)},
          std::move(batches)};
}
KernelCase gru(unsigned hidden, unsigned inputs, std::vector<Batch> batches) {
  std::vector<Dim> dims;
  for (const unsigned inner : {hidden, inputs}) {
    dims.insert(dims.end(), {Dim({3 * hidden}), Dim({3 * hidden, inner}), Dim({inner})});
  }
  return {{&ops::gru_cell, {std::move(dims)}, "gru_" + std::to_string(3 * hidden + inputs)},
          std::move(batches)};
}

/// Products and cells with every kind of tile. The number of terms decides how many chunks a
/// product has, and that of columns how large its tiles are. A cell with few columns is one launch.
std::vector<KernelCase> products() {
  return {affine_map(33, 35, 1, {{1}, {2}, {5}, {16}}),
          affine_map(20, 12, 1, {{3}, {8}, {17}}),
          affine_map(1, 1, 1, {{40}}),  // shapes that fill no tile
          affine_map(5, 3, 1, {{40}}),
          affine_map(67, 129, 1, {{40}}),
          affine_map(130, 70, 1, {{40}}),
          affine_map(64, 64, 1, {{40}}),
          affine_map(35, 20, 7, {{13}}),  // several columns
          affine_map(64, 32, 16, {{4}}),
          affine_map(33, 300, 1, {{20}}),  // chunks: 451 terms forward, or 300 backward
          affine_map(300, 20, 1, {{20}}),
          affine_map(140, 130, 2, {{3}}),
          affine_map(270, 100, 1, {{830}}),  // medium tiles
          affine_map(140, 270, 1, {{830}}),
          affine_map(1030, 6, 1, {{980}}),  // large tiles
          lstm(1, 50, 90, {{1100, 2}, {400, 1}, {40, 1}}),
          lstm(2, 50, 20, {{1050, 2}}),
          lstm(3, 37, 20, {{41, 1}}),
          lstm(16, 5, 3, {{4, 2}}),  // a tile has no room for a vector of each of 19 gates
          gru(70, 140, {{900, 2}}),
          gru(21, 130, {{20, 1}}),
          gru(21, 3, {{41, 1}})};
}

std::vector<KernelCase> cases() {
  std::vector<KernelCase> all = products();
  for (const auto& calls : {all_calls(), long_calls()}) {
    for (const OpCall& call : calls) all.push_back({call});
  }
  return all;
}

/// With more items the kernels run with shared arguments only, which then get no gradients.
constexpr std::size_t kMostItemsOfTheirOwn = 100;

/// What a call gives for all items: values, what is kept, gradients by input, and what is left for
/// shared arguments.
template <class E>
struct Results {
  std::vector<E> out, saved, left;
  std::vector<std::vector<E>> dx;
};

/// The kernels of an op on a device.
template <class E>
class Calls {
 public:
  Calls(Device& device, const OpCall& call, bool share)
      : device_(device), call_(call), share_(share) {
    const std::shared_ptr<Queue> queue = device.make_queue();
    caller_ = caller_of(queue, call, dtype_of<E>);
    caller_.forward = [this, queue, forward = caller_.forward](const ForwardCall& asked) {
      queue->submit();  // what was written before
      const std::uint64_t before = device_.counts().launches;
      forward(asked);
      launches_ = device_.counts().launches - before;
    };
  }

  /// Forward and backward for the items [first, first + n) of a batch, in which the items of `all`
  /// repeat; what is shared is given by the first one. Item i's gradient of input j is written,
  /// added to 0.25 or not wanted, by turns. `launches`, if not 0: how many the forward kernel
  /// takes.
  Results<E> run(const std::vector<Item>& all, std::size_t first, std::size_t n,
                 std::uint64_t launches = 0) {
    std::vector<const Item*> items;
    for (std::size_t i = 0; i < n; ++i) items.push_back(&all[(first + i) % all.size()]);
    KernelCall<E> kernel(device_, caller_, call_, items,
                         {.share = share_, .apart = true, .shared = &all[0]});
    kernel.forward();
    if (launches > 0) {
      EXPECT_EQ(launches_, launches) << n << " items";
    }
    Results<E> results{kernel.out(), kernel.saved(), {}, {}};
    if (call_.inputs() == 0) return results;
    std::vector<double> dy;
    for (std::size_t i = 0; i < n; ++i) {
      Random random(first + i);
      const std::vector<double> of_item = draw_weights(kernel.type().output_size, random);
      dy.insert(dy.end(), of_item.begin(), of_item.end());
    }
    const auto want = [&](std::size_t i, std::size_t j) {
      if (n > kMostItemsOfTheirOwn && kernel.is_shared(j)) return Want::nothing_of_input;
      return std::array{Want::written, Want::added, Want::nothing}[(first + i + j) % 3];
    };
    results.dx = kernel.backward(converted<E>(dy), {.want = want, .prior = 0.25, .defers = true});
    results.left = kernel.deferred();
    return results;
  }

 private:
  Device& device_;
  Caller caller_;
  const OpCall& call_;
  const bool share_;
  std::uint64_t launches_ = 0;  ///< of the last forward call
};

/// Whether differences of the n items are those of two ways to compute the same. `roundings`: how
/// many times as large as the op's bound they may be: sums of a thousand terms are rounded on both
/// sides.
template <class E>
void expect_close(const OpCall& call, const std::vector<E>& expected, const std::vector<E>& got,
                  std::size_t n, bool by_element, double roundings, const std::string& what) {
  constexpr double kEpsilon = static_cast<double>(std::numeric_limits<E>::epsilon());
  double least = 1;
  for (const Dim& dim : call.shapes.inputs) {
    least = std::max(least, std::sqrt(static_cast<double>(dim.size())));
  }
  ASSERT_EQ(expected.size(), got.size());
  const std::size_t size = expected.size() / n;
  for (std::size_t at = 0; at < n * size; at += size) {
    double largest = least;
    for (std::size_t e = at; e < at + size; ++e) {
      largest = std::max(largest, std::abs(static_cast<double>(expected[e])));
    }
    for (std::size_t e = at; e < at + size; ++e) {
      const double x = static_cast<double>(expected[e]), scale = by_element ? std::abs(x) : largest;
      ASSERT_LE(std::abs(x - static_cast<double>(got[e])),
                roundings * bound_of(*call.op) * kEpsilon * scale)
          << what << ", item " << at / size << ", element " << e - at << ": " << got[e] << " for "
          << x;
    }
  }
}
template <class E>
void expect_close(const OpCall& call, const Results<E>& expected, const Results<E>& got,
                  std::size_t n, double roundings = 4) {
  expect_close(call, expected.out, got.out, n, is_elementwise(*call.op), roundings, "values");
  for (std::size_t j = 0; j < expected.dx.size(); ++j) {
    expect_close(call, expected.dx[j], got.dx[j], n, false, roundings,
                 "gradients " + std::to_string(j));
  }
  expect_close(call, expected.left, got.left, n, false, roundings, "what is left");
}

/// Whether those of the last `few` of n items are the same. Gradients that one of the two runs did
/// not want are not compared.
template <class E>
bool have_same_bits(const Results<E>& all, const Results<E>& last, std::size_t n, std::size_t few) {
  const auto same = [&](const std::vector<E>& a, const std::vector<E>& b) {
    const std::size_t size = a.size() / n * few;
    return same_bytes(std::span(a).last(size), std::span(b));
  };
  bool all_same = same(all.out, last.out) && same(all.saved, last.saved);
  all_same &= all.left.empty() || last.left.empty() || same(all.left, last.left);
  for (std::size_t j = 0; j < all.dx.size(); ++j) {
    all_same &= all.dx[j].empty() || last.dx[j].empty() || same(all.dx[j], last.dx[j]);
  }
  return all_same;
}

bool shares_any(const OpCall& call) {
  for (unsigned j = 0; j < call.inputs(); ++j) {
    if (call.op->joins(j, call.shapes.attributes) != Join::stacked) return true;
  }
  return false;
}

class CudaKernelsTest : public ::testing::TestWithParam<KernelCase> {
 protected:
  template <class E>
  void check() {
    const KernelCase& call = GetParam();
    const std::shared_ptr<Device> device = open_device(kCudaDevice);
    const std::uint64_t fallbacks = device->counts().fallbacks;
    for (const bool share : {false, true}) {
      Calls<E> expected(*cpu_device(), call, share), calls(*device, call, share);
      if (share && !shares_any(call)) break;  // nothing is shared
      for (const auto& [n, launches] : call.batches) {
        if (!share && n > kMostItemsOfTheirOwn) continue;
        SCOPED_TRACE(std::to_string(n) + " items" + (share ? ", shared arguments" : ""));
        Random random(n);
        const std::vector<Item> items = draw_items(call, std::min<std::size_t>(n, 41), random);
        const Results<E> results = calls.run(items, 0, n, share ? launches : 0);
        expect_close(call, expected.run(items, 0, n), results, n);
        if (HasFatalFailure()) return;
        EXPECT_TRUE(have_same_bits(results, calls.run(items, 0, n), n, n))
            << "other bits the second time";
        for (const std::size_t few : {1, 2, 16, 40, 400}) {
          if (few >= n) break;
          EXPECT_TRUE(have_same_bits(results, calls.run(items, n - few, few), n, few))
              << "other bits in a batch of " << few;
        }
      }
    }
    EXPECT_EQ(device->counts().fallbacks, fallbacks);
  }
};

INSTANTIATE_TEST_SUITE_P(All, CudaKernelsTest, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST_P(CudaKernelsTest, FloatsAreTheCpus) { check<float>(); }
TEST_P(CudaKernelsTest, DoublesAreTheCpus) { check<double>(); }

// Large products by tensor cores: as exact as their numbers, and other products.
TEST(CudaTensorProductsTest, AreAsExactAsTheirNumbers) {
  const std::shared_ptr<Device> device = open_device(kCudaDevice);
  for (const KernelCase& call : {affine_map(1030, 9, 1, {{980}}),      // large if not transposed
                                 affine_map(13, 1030, 1, {{980}})}) {  // if transposed
    Random random(1);
    const std::vector<Item> items = draw_items(call, 41, random);
    Calls<float> calls(*device, call, true);
    const Results<float> exact = calls.run(items, 0, 980);
    device->set_large_products(LargeProducts::tf32);
    const Results<float> rounded = calls.run(items, 0, 980);
    device->set_large_products(LargeProducts::exact);
    EXPECT_FALSE(have_same_bits(rounded, exact, 980, 980));
    expect_close(call, exact, rounded, 980, 1 << 10);
  }
}

TEST(CudaKernelTableTest, EveryOpHasKernels) {
  EXPECT_EQ(cuda::ops_without_kernels(), std::vector<std::string>());
}

}  // namespace
}  // namespace dynet_like::op_cases
