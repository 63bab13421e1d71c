// Every kernel with a list of places for its outputs: they have the bytes that they have one behind
// the other, on every instruction set and through the queue of the device that tests run on, and
// nothing beside an item is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

#include "dynet_like/device/device.h"
#include "tests/ops/cases.h"
#include "tests/support/slow_build.h"

namespace dynet_like::op_cases {
namespace {

/// Where the items of the outputs lie.
enum class Layout {
  block,     ///< one behind the other, without a list
  in_order,  ///< with a list, and a gap behind every third
  shuffled   ///< with a list, in another order, and with a gap behind each
};

/// What a call is given beside its outputs.
enum class Inputs {
  own,        ///< of every item, one behind the other: what neighbours may be taken together for
  shared,     ///< one for all, where it may be
  same_place  ///< those of the first item for all, which is how several items of one node read
};

/// Calls a kernel of an op; waits for nobody.
using Caller = std::function<void(const ForwardCall&)>;

template <class E>
struct Outputs {
  std::vector<std::vector<E>> items;
  std::vector<E> saved;
  bool gaps_are_untouched = true;

  bool operator==(const Outputs& other) const {
    const auto same = [](const std::vector<E>& a, const std::vector<E>& b) {
      return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
    };
    return same(saved, other.saved) &&
           std::equal(items.begin(), items.end(), other.items.begin(), other.items.end(), same);
  }
};

/// The elements from the begin of a block to each of n items of `size` elements, and to the end.
std::vector<std::size_t> offsets_of(Layout layout, std::size_t n, std::size_t size) {
  std::vector<std::size_t> order(n), offsets(n + 1);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (layout == Layout::shuffled) {
    Random random(n);
    for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  }
  std::size_t at = layout == Layout::block ? 0 : 1;
  for (std::size_t k = 0; k < n; ++k) {
    offsets[order[k]] = at;
    at += size;
    if (layout == Layout::shuffled) at += 1 + k % 5;
    if (layout == Layout::in_order && k % 3 == 2) at += 3;
  }
  offsets[n] = at + (layout == Layout::block ? 0 : n * size);  // so that faults write to a gap
  return offsets;
}

/// One call of an op, whose outputs may lie anywhere.
template <class E>
class Calls {
 public:
  Calls(Device& device, const OpCall& call, std::span<const Item> items, Inputs inputs)
      : device_(device), type_(signature_of(call, dtype_of<E>)), n_(items.size()) {
    for (std::size_t j = 0; j < call.inputs(); ++j) {
      const Join join = call.op->joins(static_cast<unsigned>(j), call.shapes.attributes);
      const bool shares = inputs == Inputs::shared && join == Join::broadcast;
      Operand& in = in_.emplace_back();
      std::vector<const void*>& places = places_.emplace_back();
      if (join == Join::shared || shares) {
        in.shared = put(converted<E>(items[0].inputs[j]));
        continue;
      }
      std::vector<E> all;
      for (const Item& item : items) {
        all.insert(all.end(), item.inputs[j].begin(), item.inputs[j].end());
      }
      const E* const first = put(all);
      for (std::size_t i = 0; i < items.size(); ++i) {
        places.push_back(inputs == Inputs::same_place ? first
                                                      : first + i * items[0].inputs[j].size());
      }
      in.items = places.data();
    }
    for (const Item& item : items) {
      integers_.insert(integers_.end(), item.integers.begin(), item.integers.end());
      reals_.insert(reals_.end(), item.reals.begin(), item.reals.end());
    }
  }

  Outputs<E> run(const Caller& caller, Layout layout) {
    constexpr E kUntouched = E(-77);
    const std::size_t size = part_size(type_), n = n_ * type_.op->parts;
    const std::vector<std::size_t> offsets = offsets_of(layout, n, size);
    E* const out = put(std::vector<E>(offsets[n], kUntouched));
    E* const saved = put(std::vector<E>(n_ * type_.saved_size, kUntouched));
    std::vector<void*> list;
    for (std::size_t i = 0; i < n; ++i) list.push_back(out + offsets[i]);
    ForwardCall call;
    call.type = &type_;
    call.n = n_;
    call.in = in_.data();
    call.out = layout == Layout::block ? Output(out, size) : Output(list.data());
    if (type_.saved_size > 0) call.saved = saved;
    if (!integers_.empty()) call.integers = integers_.data();
    if (!reals_.empty()) call.reals = reals_.data();
    caller(call);
    Outputs<E> outputs;
    std::vector<E> all = get(out, offsets[n]);
    outputs.saved = get(saved, n_ * type_.saved_size);
    for (std::size_t i = 0; i < n; ++i) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(offsets[i]);
      outputs.items.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
      std::fill_n(begin, size, kUntouched);
    }
    for (E x : all) outputs.gaps_are_untouched &= x == kUntouched;
    return outputs;
  }

 private:
  E* put(const std::vector<E>& numbers) {
    const std::size_t bytes = std::max<std::size_t>(1, numbers.size()) * sizeof(E);
    auto* const place = reinterpret_cast<E*>(blocks_.emplace_back(bytes, device_.memory()).data());
    device_.write(place, numbers.data(), numbers.size() * sizeof(E));
    return place;
  }
  std::vector<E> get(const E* place, std::size_t size) {
    std::vector<E> numbers(size);
    device_.read(numbers.data(), place, size * sizeof(E));
    return numbers;
  }

  Device& device_;
  Signature type_;
  std::size_t n_;
  std::vector<Operand> in_;
  std::vector<std::vector<const void*>> places_;
  std::vector<std::uint32_t> integers_;
  std::vector<E> reals_;
  std::vector<Block> blocks_;
};

/// Items that read what the first one reads are columns of one segment, one after the other.
std::vector<Item> columns_of_one_segment(const OpCall& call, std::vector<Item> items) {
  const unsigned integers = call.op->numbers.integers;
  for (std::size_t i = 0; is_open(call) && i < items.size(); ++i) {
    const std::uint32_t columns = items[0].integers[0];
    const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(columns, items.size()));
    items[i].integers = {columns, 0, end, static_cast<std::uint32_t>(i % end)};
    items[i].integers.resize(integers);
  }
  return items;
}

/// Calls of the table, and of larger shapes.
std::vector<OpCall> calls() {
  std::vector<OpCall> all = all_calls();
  const auto add = [&](const Op& op, const OpCase& shapes, const std::string& name) {
    all.push_back({&op, shapes, std::string(op.name) + "_" + name});
  };
  // Several chains per element, and as many tiles as large products have.
  add(ops::matrix_product, {{Dim({130, 300}), Dim({300})}}, "long");
  add(ops::matrix_product, {{Dim({260, 280}), Dim({280, 70})}}, "wide");
  add(ops::matrix_product, {{Dim({1100, 150}), Dim({150, 70})}}, "large");
  for (const unsigned d : {0u, 1u}) {
    add(ops::softmax, {{Dim({40, 20})}, {d}}, "matrix_" + std::to_string(d));
    add(ops::max_dim, {{Dim({9, 20})}, {d}}, "matrix_" + std::to_string(d));
  }
  add(ops::softmax, {{Dim({1500})}, {0}}, "long");
  add(ops::argmax, {{Dim({1500})}, {0}}, "long");
  add(ops::sum_dim, {{Dim({1500})}, {0}}, "long");
  return all;
}

class ScatteredOutputsTest : public ::testing::TestWithParam<OpCall> {
 protected:
  template <class E>
  void check() {
    // The emulator is slow.
    const std::vector<std::size_t> sizes = default_device()->is_cpu()
                                               ? std::vector<std::size_t>{1, 2, 5, 17}
                                               : std::vector<std::size_t>{3};
    for (const std::size_t n : sizes) {
      // Where an operation is slow the first items say enough.
      if (n > 5 && signature_of(GetParam(), dtype_of<E>).output_size > 10'000) continue;
      Random random(n);
      const std::vector<Item> items = draw_items(GetParam(), n, random);
      compare<E>(items, Inputs::own);
      compare<E>(items, Inputs::shared);
      compare<E>(columns_of_one_segment(GetParam(), items), Inputs::same_place);
    }
  }

 private:
  template <class E>
  void compare(std::span<const Item> items, Inputs inputs) {
    SCOPED_TRACE(std::to_string(items.size()) + " items, inputs " +
                 std::to_string(static_cast<int>(inputs)));
    const OpCall& call = GetParam();
    const int dtype = static_cast<int>(dtype_of<E>);
    const std::unique_ptr<Queue> queue = default_device()->make_queue();
    const auto of_queue = [&](const ForwardCall& asked) {
      queue->forward(queue->kernels(*call.op).forward[dtype], asked);
      queue->submit();
    };
    compare<E>(*default_device(), items, inputs, of_queue);
    if (!default_device()->is_cpu()) return;
    for (const KernelSet& set : kernel_sets()) {
      SCOPED_TRACE(set.target);
      compare<E>(*default_device(), items, inputs, [&](ForwardCall asked) {
        HeapWorkspace workspace;
        asked.workspace = &workspace;
        set.of(call).forward[dtype](asked);
      });
      if (kSlowBuild) break;
    }
  }

  template <class E>
  void compare(Device& device, std::span<const Item> items, Inputs inputs, const Caller& caller) {
    Calls<E> calls(device, GetParam(), items, inputs);
    const Outputs<E> expected = calls.run(caller, Layout::block);
    for (const Layout layout : {Layout::in_order, Layout::shuffled}) {
      const Outputs<E> outputs = calls.run(caller, layout);
      EXPECT_TRUE(outputs == expected) << "layout " << static_cast<int>(layout);
      EXPECT_TRUE(outputs.gaps_are_untouched) << "layout " << static_cast<int>(layout);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, ScatteredOutputsTest, ::testing::ValuesIn(calls()), name_of_call);

TEST_P(ScatteredOutputsTest, FloatsAreThoseOfABlock) { check<float>(); }
TEST_P(ScatteredOutputsTest, DoublesAreThoseOfABlock) { check<double>(); }

// Each thread gets the places of its own items, or of their parts.
TEST(ScatteredOutputsThreadsTest, GetTheirPartsOfTheList) {
  const unsigned h = 32;
  const OpCall one_part{&ops::softmax, {{Dim({40, 20})}, {0}}, "softmax"};
  const OpCall parts{
      &ops::lstm_cell, {{Dim({4 * h}), Dim({h}), Dim({4 * h, h}), Dim({h})}, {1, 0}}, "lstm_cell"};
  for (const OpCall& call : {one_part, parts}) {
    Random random(1);
    const std::vector<Item> items = draw_items(call, 300, random);
    const std::unique_ptr<Queue> queue = make_cpu_queue(std::make_shared<ThreadPool>(3));
    const auto caller = [&](const ForwardCall& asked) {
      queue->forward(queue->kernels(*call.op).forward[0], asked);
    };
    Calls<float> calls(*cpu_device(), call, items, Inputs::own);
    const Outputs<float> expected = calls.run(caller, Layout::block);
    for (const Layout layout : {Layout::in_order, Layout::shuffled}) {
      const Outputs<float> outputs = calls.run(caller, layout);
      EXPECT_TRUE(outputs == expected);
      EXPECT_TRUE(outputs.gaps_are_untouched);
    }
  }
}

// An op without kernels for GPUs runs on the CPU, and its outputs are copied to where they belong.
TEST(ScatteredOutputsFallbackTest, ItemsAreCopiedToTheirPlaces) {
  static const Kernels kernels{{[](const ForwardCall& call) {
                                  const std::size_t size = call.type->output_size;
                                  for (std::size_t i = 0; i < call.n * size; ++i) {
                                    call.out.at<float>(i / size)[i % size] =
                                        -call.in[0].at<float>(i / size)[i % size];
                                  }
                                },
                                nullptr},
                               {}};
  Op op;
  op.name = "negated";
  op.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; };
  op.kernels = &kernels;
  const OpCall call{&op, {{Dim({3})}}, "negated"};
  Random random(1);
  const std::vector<Item> items = draw_items(call, 5, random);
  const std::unique_ptr<Queue> queue = default_device()->make_queue();
  const auto caller = [&](const ForwardCall& asked) {
    queue->forward(queue->kernels(op).forward[0], asked);
    queue->submit();
  };
  Calls<float> calls(*default_device(), call, items, Inputs::own);
  const Outputs<float> expected = calls.run(caller, Layout::block);
  EXPECT_EQ(expected.items[4][2], -static_cast<float>(items[4].inputs[0][2]));
  for (const Layout layout : {Layout::in_order, Layout::shuffled}) {
    const Outputs<float> outputs = calls.run(caller, layout);
    EXPECT_TRUE(outputs == expected);
    EXPECT_TRUE(outputs.gaps_are_untouched);
  }
}

}  // namespace
}  // namespace dynet_like::op_cases
