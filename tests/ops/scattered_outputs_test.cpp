// Every kernel with a list of places for its outputs: they have the bytes that they have one behind
// the other, on every instruction set and through the queue of the device that tests run on, and
// nothing beside an item is written.
#include "dynet_like/device/device.h"
#include "tests/ops/cases.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like::op_cases {
namespace {

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

template <class E>
void expect_same_in_all_layouts(Device& device, const OpCall& call, std::span<const Item> items,
                                const InputPlaces& places, const Caller& caller) {
  KernelCall<E> kernel(device, caller, call, KernelCall<E>::pointers_to(items), places);
  const auto same = [](const std::vector<E>& a, const std::vector<E>& b) {
    return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
  };
  const std::vector<E> expected = kernel.forward(), saved = kernel.saved();
  for (const Layout layout : {Layout::in_order, Layout::shuffled}) {
    EXPECT_TRUE(same(kernel.forward(layout), expected)) << "layout " << static_cast<int>(layout);
    EXPECT_TRUE(same(kernel.saved(), saved)) << "layout " << static_cast<int>(layout);
    EXPECT_TRUE(kernel.gaps_are_untouched()) << "layout " << static_cast<int>(layout);
  }
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
      compare<E>(items, {});
      compare<E>(items, {.share = true});
      compare<E>(columns_of_one_segment(GetParam(), items), {.same_place = true});
    }
  }

 private:
  template <class E>
  void compare(std::span<const Item> items, const InputPlaces& places) {
    SCOPED_TRACE(std::to_string(items.size()) + (places.share ? " items, shared" : " items") +
                 (places.same_place ? ", same place" : ""));
    const OpCall& call = GetParam();
    expect_same_in_all_layouts<E>(*default_device(), call, items, places,
                                  caller_of(default_device()->make_queue(), call, dtype_of<E>));
    if (!default_device()->is_cpu()) return;
    for (const KernelSet& set : kernel_sets()) {
      SCOPED_TRACE(set.target);
      expect_same_in_all_layouts<E>(*default_device(), call, items, places,
                                    caller_of(set, call, dtype_of<E>));
      if (kSlowBuild) break;
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
    const std::shared_ptr<Queue> queue = make_cpu_queue(std::make_shared<ThreadPool>(3));
    expect_same_in_all_layouts<float>(*cpu_device(), call, items, {},
                                      caller_of(queue, call, DType::f32));
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
  const Caller caller = caller_of(default_device()->make_queue(), call, DType::f32);
  KernelCall<float> kernel(*default_device(), caller, call, KernelCall<float>::pointers_to(items));
  EXPECT_EQ(kernel.forward()[4 * 3 + 2], -static_cast<float>(items[4].inputs[0][2]));
  expect_same_in_all_layouts<float>(*default_device(), call, items, {}, caller);
}

}  // namespace
}  // namespace dynet_like::op_cases
