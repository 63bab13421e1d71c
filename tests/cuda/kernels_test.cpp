// Every kernel for GPUs against the CPU's, called through queues: values and gradients agree within
// a bound per op, and an item has the bits that it has alone and every time. Items begin at aligned
// addresses and at others.
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

  /// Forward and backward for the items [first, first + n) of a batch, in which the items of `all`
  /// repeat; what is shared is given by the first one. Item i's gradient of input j is written,
  /// added to 0.25 or not wanted, by turns. `launches`, if not 0: how many the forward kernel
  /// takes.
  Results<E> run(const std::vector<Item>& all, std::size_t first, std::size_t n,
                 std::uint64_t launches = 0) {
    blocks_.clear();
    std::vector<const Item*> items;
    for (std::size_t i = 0; i < n; ++i) items.push_back(&all[(first + i) % all.size()]);
    const Kernels& kernels = queue_->kernels(*type_.op);
    const int dtype = static_cast<int>(type_.dtype);
    std::vector<std::vector<const void*>> in_places(type_.inputs.size());
    std::vector<Operand> in(type_.inputs.size());
    for (std::size_t j = 0; j < in.size(); ++j) {
      if (is_shared_[j] != 0) {
        in[j].shared = put(all[0].inputs[j]);
        continue;
      }
      for (const Item* item : items) in_places[j].push_back(put(item->inputs[j]));
      in[j].items = in_places[j].data();
    }
    std::vector<std::uint32_t> integers;
    std::vector<E> reals;
    for (const Item* item : items) {
      integers.insert(integers.end(), item->integers.begin(), item->integers.end());
      for (double real : item->reals) reals.push_back(static_cast<E>(real));
    }
    ForwardCall forward;
    forward.type = &type_;
    forward.n = n;
    forward.in = in.data();
    forward.out = {make(n * type_.output_size), part_size(type_)};
    if (type_.saved_size > 0) forward.saved = make(n * type_.saved_size);
    if (!integers.empty()) forward.integers = integers.data();
    if (!reals.empty()) forward.reals = reals.data();
    queue_->submit();
    const std::uint64_t before = device_.counts().launches;
    queue_->forward(kernels.forward[dtype], forward);
    if (launches > 0) {
      queue_->submit();
      EXPECT_EQ(device_.counts().launches - before, launches) << n << " items";
    }
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
        if (!has_gradient(j, n)) continue;
        enum { written, added, unwanted };
        const std::size_t kind = (first + i + j) % 3;
        void* place = put(std::vector<double>(type_.inputs[j].size(), 0.25));
        dx_[j].push_back(place);
        to[j].push_back(kind == unwanted ? nullptr : place);
        add[j].push_back(kind == added);
      }
      if (type_.deferred_size > 0) left_.push_back(make(type_.deferred_size));
    }
    for (std::size_t j = 0; j < inputs; ++j) {
      if (has_gradient(j, n)) destinations[j] = {to[j].data(), add[j].data()};
    }
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

  bool has_gradient(std::size_t j, std::size_t n) const {
    return n <= kMostItemsOfTheirOwn || is_shared_[j] == 0;
  }
  E* make(std::size_t size) {
    const std::size_t shift = blocks_.size() % 5;  // elements beyond an aligned address
    return reinterpret_cast<E*>(
               blocks_.emplace_back((size + shift + 1) * sizeof(E), device_.memory()).data()) +
           shift;
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

/// Whether a difference is that of two ways to compute the same. `roundings`: how many times as
/// large as the op's bound it may be.
template <class E>
void expect_close(const OpCall& call, const std::vector<E>& expected, const std::vector<E>& got,
                  bool by_element, double roundings, const std::string& what) {
  constexpr double kEpsilon = static_cast<double>(std::numeric_limits<E>::epsilon());
  double largest = 1;
  for (const Dim& dim : call.shapes.inputs) {
    largest = std::max(largest, std::sqrt(static_cast<double>(dim.size())));
  }
  for (E x : expected) largest = std::max(largest, std::abs(static_cast<double>(x)));
  ASSERT_EQ(expected.size(), got.size());
  for (std::size_t e = 0; e < expected.size(); ++e) {
    const double x = static_cast<double>(expected[e]), scale = by_element ? std::abs(x) : largest;
    ASSERT_LE(std::abs(x - static_cast<double>(got[e])),
              roundings * bound_of(*call.op) * kEpsilon * scale)
        << what << ", element " << e << ": " << got[e] << " for " << x;
  }
}

// Sums of a thousand terms are rounded on both sides.
template <class E>
void expect_close(const OpCall& call, const Results<E>& expected, const Results<E>& got,
                  double roundings = 4) {
  const bool by_element = is_elementwise(*call.op);
  for (std::size_t i = 0; i < expected.out.size(); ++i) {
    const std::string item = " of item " + std::to_string(i);
    expect_close(call, expected.out[i], got.out[i], by_element, roundings, "value" + item);
    for (std::size_t j = 0; j < expected.dx.size(); ++j) {
      if (expected.dx[j].empty()) continue;
      expect_close(call, expected.dx[j][i], got.dx[j][i], false, roundings,
                   "gradient " + std::to_string(j) + item);
    }
    if (!expected.left.empty()) {
      expect_close(call, expected.left[i], got.left[i], false, roundings, "what is left" + item);
    }
  }
}

template <class E>
bool same_bits(const std::vector<std::vector<E>>& a, const std::vector<std::vector<E>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(E)) == 0;
  });
}
/// Gradients that one of the two runs did not want are not compared.
template <class E>
bool same_bits(const Results<E>& a, const Results<E>& b) {
  bool same = same_bits(a.out, b.out) && same_bits(a.saved, b.saved) && same_bits(a.left, b.left);
  for (std::size_t j = 0; j < a.dx.size(); ++j) {
    same = same && (a.dx[j].empty() || b.dx[j].empty() || same_bits(a.dx[j], b.dx[j]));
  }
  return same;
}

/// The results of the last `n` items.
template <class E>
Results<E> last_of(const Results<E>& all, std::size_t n) {
  const auto tail = [n](const auto& list) {
    return std::vector(list.end() - static_cast<std::ptrdiff_t>(std::min(n, list.size())),
                       list.end());
  };
  Results<E> last{tail(all.out), tail(all.saved), tail(all.left), {}};
  for (const auto& dx : all.dx) last.dx.push_back(tail(dx));
  return last;
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
      if (share && !calls.shares_any()) break;  // nothing is shared
      for (const auto& [n, launches] : call.batches) {
        if (!share && n > kMostItemsOfTheirOwn) continue;
        SCOPED_TRACE(std::to_string(n) + " items" + (share ? ", shared arguments" : ""));
        Random random(n);
        const std::vector<Item> items = draw_items(call, std::min<std::size_t>(n, 41), random);
        const Results<E> results = calls.run(items, 0, n, share ? launches : 0);
        expect_close(call, expected.run(items, 0, n), results);
        if (HasFatalFailure()) return;
        EXPECT_TRUE(same_bits(results, calls.run(items, 0, n))) << "other bits the second time";
        for (const std::size_t few : {1, 2, 16, 40, 400}) {
          if (few >= n) break;
          EXPECT_TRUE(same_bits(last_of(results, few), calls.run(items, n - few, few)))
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
    EXPECT_FALSE(same_bits(rounded, exact));
    expect_close(call, exact, rounded, 1 << 10);
  }
}

TEST(CudaKernelTableTest, EveryOpHasKernels) {
  EXPECT_EQ(cuda::ops_without_kernels(), std::vector<std::string>());
}

}  // namespace
}  // namespace dynet_like::op_cases
