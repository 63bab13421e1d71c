// Every kernel for GPUs against the CPU's, called through queues: values and gradients agree within
// a bound per op, an item has the bits that it has alone, and the order in which threads run does
// not matter.
//
// Bounds are in epsilon (2^-23, 2^-52): of the number itself for values of elementwise ops, where
// functions differ in the last places; else of the largest number of the item, which is taken to be
// at least the root of the number of elements that may have been added up, since devices add in
// different orders.
#include <gtest/gtest.h>

#include <map>

#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/device.h"
#include "dynet_like/device/queue.h"
#include "dynet_like/ops/special_formulas.h"
#include "tests/ops/cases.h"
#include "tests/support/cuda_device.h"

namespace dynet_like::op_cases {
namespace {

double bound_of(const Op& op) {
  static const std::map<std::string_view, double> bounds = {
      // Sums of sums, which go through further functions.
      {"lstm_cell", 16},
      {"gru_cell", 16},
      {"layer_norm", 16},
      {"rms_norm", 16},
      // One chain of additions on the CPU, a tree of them here.
      {"cumsum", 16},
      {"hinge", 16},
      // Errors grow with the condition of the matrix.
      {"inverse", 64},
      {"logdet", 64},
      // Functions have up to 2.75 ulp on the CPU and 2 on a GPU, as the CUDA Programming Guide
      // says,
      // and slopes are products of them.
      {"exp", 8},
      {"tanh", 8},
      {"tanh_of_sum", 8},
      {"sin", 8},
      {"cos", 8},
      {"asin", 8},
      {"acos", 8},
      {"atan", 8},
      {"cosh", 8},
      {"erf", 8},
      {"sigmoid", 8},
      {"log_sigmoid", 8},
      {"silu", 8},
      {"gelu_tanh", 8},
      {"softplus", 8},
      {"elu", 8},
      {"selu", 8},
      {"divergence_term", 8},
      // These have 3 or 4 on a GPU; erfc, of which gelu is made, has 5.
      {"gelu", 16},
      {"sinh", 16},
      {"asinh", 16},
      {"atanh", 16},
      {"tan", 16},
      {"acosh", 16},
      {"pow", 16},
      {"poisson_loss", 256},  // a difference of numbers that are larger
      // The same formulas and the same draws.
      {"dropout", 0},
      {"random_uniform", 0},
      {"random_normal", 0},
      {"random_bernoulli", 0},
      {"random_gumbel", 0}};
  const auto found = bounds.find(op.name);
  return found == bounds.end() ? 4 : found->second;
}

bool is_elementwise(const Op& op) {
  bool found = false;
  formulas::visit_all([&]<class F>() { found |= op.name == F::name; });
  return found;
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

std::vector<OpCall> calls_to_compare() {
  std::vector<OpCall> calls = all_calls();
  const std::vector<OpCall> more = long_calls();
  calls.insert(calls.end(), more.begin(), more.end());
  return calls;
}

/// What a call gives for every item: its value, what is kept, gradients, and what is left for
/// shared arguments. Where nothing was wanted there is what was there before.
template <class E>
struct Results {
  std::vector<std::vector<E>> out, saved, left;
  std::vector<std::vector<std::vector<E>>> dx;  ///< by input
};

/// The kernels of an op on a device.
template <class E>
class Calls {
 public:
  Calls(Device& device, const OpCall& call, bool share)
      : device_(device), queue_(device.make_queue()), type_(signature_of(call, dtype_of<E>)) {
    for (std::size_t j = 0; j < call.inputs(); ++j) {
      const Join join = call.op->joins(static_cast<unsigned>(j), call.shapes.attributes);
      is_shared_.push_back(join == Join::shared || (share && join == Join::broadcast));
    }
  }
  bool shares_any() const { return std::ranges::count(is_shared_, 0) != std::ssize(is_shared_); }

  /// Forward and backward for the items [first, first + n) of a batch; what is shared is given by
  /// the first item of all. Item i's gradient of input j is written, added to 0.25 or not wanted,
  /// by turns.
  Results<E> run(std::span<const Item> all, std::size_t first, std::size_t n) {
    blocks_.clear();
    const std::span<const Item> items = all.subspan(first, n);
    const Kernels& kernels = queue_->kernels(*type_.op);
    const int dtype = static_cast<int>(type_.dtype);
    std::vector<std::vector<const void*>> in_places(type_.inputs.size());
    std::vector<Operand> in(type_.inputs.size());
    for (std::size_t j = 0; j < in.size(); ++j) {
      if (is_shared_[j] != 0) {
        in[j].shared = put(all[0].inputs[j]);
        continue;
      }
      for (const Item& item : items) in_places[j].push_back(put(item.inputs[j]));
      in[j].items = in_places[j].data();
    }
    std::vector<std::uint32_t> integers;
    std::vector<E> reals;
    for (const Item& item : items) {
      integers.insert(integers.end(), item.integers.begin(), item.integers.end());
      for (double real : item.reals) reals.push_back(static_cast<E>(real));
    }
    ForwardCall forward;
    forward.type = &type_;
    forward.n = n;
    forward.in = in.data();
    forward.out = {make(n * type_.output_size), part_size(type_)};
    if (type_.saved_size > 0) forward.saved = make(n * type_.saved_size);
    if (!integers.empty()) forward.integers = integers.data();
    if (!reals.empty()) forward.reals = reals.data();
    queue_->forward(kernels.forward[dtype], forward);
    Results<E> results;
    const auto out = places(forward.out.first, n * type_.op->parts, part_size(type_));
    const auto saved = places(forward.saved, n, type_.saved_size);

    if (kernels.backward[dtype] != nullptr && !in.empty()) {
      backward(kernels.backward[dtype], forward, out, saved, first, results);
    }
    queue_->submit();
    for (std::size_t i = 0; i < out.size(); i += type_.op->parts) {
      results.out.push_back(get(out[i], type_.output_size));  // its parts follow one another
    }
    for (const void* place : saved) results.saved.push_back(get(place, type_.saved_size));
    for (std::size_t j = 0; j < dx_.size(); ++j) {
      for (const void* place : dx_[j]) {
        results.dx[j].push_back(get(place, type_.inputs[j].size()));
      }
    }
    for (const void* place : left_) results.left.push_back(get(place, type_.deferred_size));
    return results;
  }

 private:
  void backward(Kernels::Backward kernel, const ForwardCall& forward,
                const std::vector<const void*>& out, const std::vector<const void*>& saved,
                std::size_t first, Results<E>& results) {
    const std::size_t inputs = type_.inputs.size(), n = forward.n;
    dx_.assign(inputs, {});
    left_.clear();
    results.dx.resize(inputs);
    std::vector<std::vector<void*>> to(inputs);
    std::vector<std::vector<std::uint8_t>> add(inputs);
    std::vector<Destination> destinations(inputs);
    std::vector<const void*> dy;
    for (std::size_t i = 0; i < n; ++i) {
      Random random(first + i);
      const E* const of_item = put(draw_weights(type_.output_size, random));
      for (unsigned p = 0; p < type_.op->parts; ++p) dy.push_back(of_item + p * part_size(type_));
      for (std::size_t j = 0; j < inputs; ++j) {
        enum { written, added, unwanted };
        const std::size_t kind = (first + i + j) % 3;
        void* place = put(std::vector<double>(type_.inputs[j].size(), 0.25));
        dx_[j].push_back(place);
        to[j].push_back(kind == unwanted ? nullptr : place);
        add[j].push_back(kind == added);
      }
      if (type_.deferred_size > 0) left_.push_back(make(type_.deferred_size));
    }
    for (std::size_t j = 0; j < inputs; ++j) destinations[j] = {to[j].data(), add[j].data()};
    BackwardCall call;
    call.type = &type_;
    call.n = n;
    if (type_.op->needs_inputs()) call.in = forward.in;
    if (type_.op->needs_output()) call.out.items = out.data();
    if (type_.saved_size > 0) call.saved.items = saved.data();
    call.dy.items = dy.data();
    call.dx = destinations.data();
    if (type_.deferred_size > 0) call.deferred = left_.data();
    call.integers = forward.integers;
    call.reals = forward.reals;
    queue_->backward(kernel, call);
    queue_->submit();
  }

  E* make(std::size_t size) {
    return reinterpret_cast<E*>(
        blocks_.emplace_back(std::max<std::size_t>(1, size) * sizeof(E), device_.memory()).data());
  }
  E* put(const std::vector<double>& numbers) {
    const std::vector<E> converted(numbers.begin(), numbers.end());
    E* const place = make(numbers.size());
    device_.write(place, converted.data(), numbers.size() * sizeof(E));
    return place;
  }
  std::vector<E> get(const void* place, std::size_t size) {
    std::vector<E> numbers(size);
    device_.read(numbers.data(), place, size * sizeof(E));
    return numbers;
  }
  static std::vector<const void*> places(void* block, std::size_t n, std::size_t size) {
    std::vector<const void*> result;
    for (std::size_t i = 0; block != nullptr && i < n; ++i) {
      result.push_back(static_cast<const E*>(block) + i * size);
    }
    return result;
  }

  Device& device_;
  std::unique_ptr<Queue> queue_;
  Signature type_;
  std::vector<std::uint8_t> is_shared_;
  std::vector<Block> blocks_;
  std::vector<std::vector<const void*>> dx_;
  std::vector<void*> left_;
};

/// Whether a difference is that of two ways to compute the same.
template <class E>
void expect_close(const OpCall& call, const std::vector<E>& expected, const std::vector<E>& got,
                  bool by_element, const std::string& what) {
  constexpr double kEpsilon = static_cast<double>(std::numeric_limits<E>::epsilon());
  double largest = 1;
  for (const Dim& dim : call.shapes.inputs) {
    largest = std::max(largest, std::sqrt(static_cast<double>(dim.size())));
  }
  for (E x : expected) largest = std::max(largest, std::abs(static_cast<double>(x)));
  ASSERT_EQ(expected.size(), got.size());
  for (std::size_t e = 0; e < expected.size(); ++e) {
    const double x = static_cast<double>(expected[e]), scale = by_element ? std::abs(x) : largest;
    ASSERT_LE(std::abs(x - static_cast<double>(got[e])), bound_of(*call.op) * kEpsilon * scale)
        << what << ", element " << e << ": " << got[e] << " for " << x;
  }
}

template <class E>
void expect_close(const OpCall& call, const Results<E>& expected, const Results<E>& got) {
  const bool by_element = is_elementwise(*call.op);
  for (std::size_t i = 0; i < expected.out.size(); ++i) {
    const std::string item = " of item " + std::to_string(i);
    expect_close(call, expected.out[i], got.out[i], by_element, "value" + item);
    for (std::size_t j = 0; j < expected.dx.size(); ++j) {
      expect_close(call, expected.dx[j][i], got.dx[j][i], false,
                   "gradient " + std::to_string(j) + item);
    }
    if (!expected.left.empty()) {
      expect_close(call, expected.left[i], got.left[i], false, "what is left" + item);
    }
  }
}

template <class E>
bool same_bits(const std::vector<std::vector<E>>& a, const std::vector<std::vector<E>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(E)) == 0;
  });
}
template <class E>
bool same_bits(const Results<E>& a, const Results<E>& b) {
  bool same = same_bits(a.out, b.out) && same_bits(a.saved, b.saved) && same_bits(a.left, b.left);
  for (std::size_t j = 0; j < a.dx.size(); ++j) same = same && same_bits(a.dx[j], b.dx[j]);
  return same;
}

template <class E>
void append(const Results<E>& from, Results<E>& to) {
  const auto join = [](const auto& more, auto& all) {
    all.insert(all.end(), more.begin(), more.end());
  };
  join(from.out, to.out);
  join(from.saved, to.saved);
  join(from.left, to.left);
  to.dx.resize(from.dx.size());
  for (std::size_t j = 0; j < from.dx.size(); ++j) join(from.dx[j], to.dx[j]);
}

class CudaKernelsTest : public ::testing::TestWithParam<OpCall> {
 protected:
  ~CudaKernelsTest() override { set_thread_order(0); }

  template <class E>
  void check() {
    const OpCall& call = GetParam();
    const std::shared_ptr<Device> device = open_device(kCudaDevice);
    const std::vector<std::string> without = cuda::ops_without_kernels();
    const bool falls_back = std::count(without.begin(), without.end(), call.op->name) > 0;
    const std::uint64_t fallbacks_before = device->counts().fallbacks;
    for (const bool share : {false, true}) {
      Calls<E> expected(*cpu_device(), call, share), calls(*device, call, share);
      if (share && !calls.shares_any()) break;  // nothing is shared
      for (const std::size_t n : {3, 17}) {
        SCOPED_TRACE(std::to_string(n) + " items" + (share ? ", shared arguments" : ""));
        Random random(n);
        const std::vector<Item> items = draw_items(call, n, random);
        set_thread_order(0);
        const Results<E> results = calls.run(items, 0, n);
        expect_close(call, expected.run(items, 0, n), results);
        if (HasFatalFailure()) return;
        set_thread_order(n == 3 ? 1 : 2);
        EXPECT_TRUE(same_bits(results, calls.run(items, 0, n))) << "other bits the second time";
        set_thread_order(0);
        Results<E> alone;
        for (std::size_t i = 0; i < n; ++i) append(calls.run(items, i, 1), alone);
        EXPECT_TRUE(same_bits(results, alone)) << "other bits alone";
      }
    }
    EXPECT_EQ(device->counts().fallbacks > fallbacks_before, falls_back);
  }
};

INSTANTIATE_TEST_SUITE_P(All, CudaKernelsTest, ::testing::ValuesIn(calls_to_compare()),
                         name_of_call);

TEST_P(CudaKernelsTest, FloatsAreTheCpus) { check<float>(); }
TEST_P(CudaKernelsTest, DoublesAreTheCpus) { check<double>(); }

TEST(CudaKernelTableTest, EveryOpHasKernels) {
  EXPECT_EQ(cuda::ops_without_kernels(), std::vector<std::string>());
}

}  // namespace
}  // namespace dynet_like::op_cases
