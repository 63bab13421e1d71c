// Kernels that work on elements one by one, wherever the items lie: every size around the width of
// vectors, on every instruction set. An item has the bytes that it has alone, whether the items of
// a batch lie one behind the other or apart, and nothing beside an item is read or written: each
// lies against a page that may not be touched.
#include <sys/mman.h>
#include <unistd.h>

#include "dynet_like/ops/special_formulas.h"
#include "tests/ops/cases.h"
#include "tests/support/precompiled.h"
#include "tests/support/same_bytes.h"
#include "tests/support/slow_build.h"

namespace dynet_like::op_cases {
namespace {

/// Zeros between two pages that must not be touched. Pages are kept for the next one.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        inside_((bytes + page_ - 1) / page_ * page_) {
    std::vector<std::byte*>& kept = kept_pages()[inside_];
    if (kept.empty()) kept.push_back(map());
    all_ = kept.back();
    kept.pop_back();
    std::memset(begin(), 0, inside_);
  }
  ~GuardedMemory() { kept_pages()[inside_].push_back(all_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* begin() const { return all_ + page_; }
  std::byte* end() const { return begin() + inside_; }

 private:
  static std::map<std::size_t, std::vector<std::byte*>>& kept_pages() {
    static std::map<std::size_t, std::vector<std::byte*>> pages;
    return pages;
  }
  std::byte* map() const {
    const std::size_t bytes = inside_ + 2 * page_;
    void* all = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    std::byte* inside = static_cast<std::byte*>(all) + page_;
    if (mprotect(inside, inside_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    return static_cast<std::byte*>(all);
  }

  std::size_t page_, inside_;
  std::byte* all_;
};

/// Where the items of one argument lie: alone against either guard, one behind the other up to the
/// last guard, or apart.
enum class Layout { at_begin, at_end, joined, apart };

template <class E>
class Items {
 public:
  Items(Layout layout, std::size_t n, std::size_t size) : size_(size) {
    constexpr std::size_t kGap = 3;
    const bool alone = layout == Layout::at_begin || layout == Layout::at_end;
    const std::size_t stride = size + (layout == Layout::apart ? kGap : 0);
    for (std::size_t block = 0; block < (alone ? n : 1); ++block) {
      memory_.push_back(std::make_unique<GuardedMemory>((alone ? size : n * stride) * sizeof(E)));
    }
    for (std::size_t i = 0; i < n; ++i) {
      GuardedMemory& memory = *memory_[alone ? i : 0];
      E* end = reinterpret_cast<E*>(memory.end());
      items_.push_back(layout == Layout::at_begin ? reinterpret_cast<E*>(memory.begin())
                       : alone                    ? end - size
                                                  : end - (n - i) * stride);
    }
  }

  void fill(std::size_t i, std::span<const double> values) {
    std::copy(values.begin(), values.end(), items_[i]);
  }
  E* at(std::size_t i) const { return items_[i]; }
  std::vector<E> item(std::size_t i) const { return {items_[i], items_[i] + size_}; }
  const void* const* read() const { return reinterpret_cast<const void* const*>(items_.data()); }
  void* const* write() const { return reinterpret_cast<void* const*>(items_.data()); }
  /// Whether all memory beside the items still holds zeros.
  bool is_clean_beside() {
    for (E* item : items_) std::fill_n(item, size_, E(0));
    for (const auto& memory : memory_) {
      for (const std::byte* at = memory->begin(); at != memory->end(); ++at) {
        if (*at != std::byte{0}) return false;
      }
    }
    return true;
  }

 private:
  std::size_t size_;
  std::vector<std::unique_ptr<GuardedMemory>> memory_;
  std::vector<E*> items_;
};

/// What an item's kernels gave: its value and the gradients of its inputs.
template <class E>
struct Results {
  std::vector<E> value;
  std::vector<std::vector<E>> gradients;

  bool operator==(const Results& other) const {
    bool same = same_bytes(value, other.value) && gradients.size() == other.gradients.size();
    for (std::size_t j = 0; same && j < gradients.size(); ++j) {
      same = same_bytes(gradients[j], other.gradients[j]);
    }
    return same;
  }
};

// Every third gradient is unwanted if `choosy`; those at odd places are added to what is there.
template <class E>
std::vector<Results<E>> run(const OpCall& call, const Kernels& kernels, Layout layout,
                            std::span<const Item> items, std::size_t first, bool choosy) {
  const Signature type = signature_of(call, dtype_of<E>);
  const std::size_t n = items.size(), inputs = call.inputs();
  std::vector<Items<E>> in, dx;
  std::vector<Operand> operands;
  std::vector<Destination> destinations;
  std::vector<std::uint32_t> integers;
  std::vector<E> reals;
  std::vector<std::uint8_t> add;
  const std::size_t parts = type.op->parts, part = part_size(type);
  Items<E> out(layout, n * parts, part), dy(layout, n * parts, part);
  std::vector<std::vector<void*>> wanted(inputs);
  for (std::size_t i = 0; i < n; ++i) {
    integers.insert(integers.end(), items[i].integers.begin(), items[i].integers.end());
    for (double real : items[i].reals) reals.push_back(static_cast<E>(real));
    add.push_back((first + i) % 2);
    Random random(first + i);
    for (std::size_t p = 0; p < parts; ++p) dy.fill(i * parts + p, draw_weights(part, random));
  }
  for (std::size_t j = 0; j < inputs; ++j) {
    in.emplace_back(layout, n, type.inputs[j].size());
    dx.emplace_back(layout, n, type.inputs[j].size());
    for (std::size_t i = 0; i < n; ++i) {
      in[j].fill(i, items[i].inputs[j]);
      dx[j].fill(i, std::vector<double>(type.inputs[j].size(), 0.25));
      wanted[j].push_back(choosy && (first + i) % 3 == 0 ? nullptr : dx[j].at(i));
    }
  }
  for (std::size_t j = 0; j < inputs; ++j) {
    operands.push_back({in[j].read(), nullptr});
    destinations.push_back({wanted[j].data(), add.data()});
  }
  HeapWorkspace workspace;
  std::vector<E> saved(n * type.saved_size);
  std::vector<const void*> saved_items;
  for (std::size_t i = 0; i < n; ++i) saved_items.push_back(saved.data() + i * type.saved_size);
  const Output to = layout == Layout::joined ? Output(out.at(0), part) : Output(out.write());
  kernels.forward[static_cast<int>(type.dtype)](
      {&type, n, operands.data(), to, saved.data(), integers.data(), reals.data(), &workspace, {}});
  kernels.backward[static_cast<int>(type.dtype)]({&type,
                                                  n,
                                                  operands.data(),
                                                  {out.read(), nullptr},
                                                  {saved_items.data(), nullptr},
                                                  {dy.read(), nullptr},
                                                  destinations.data(),
                                                  nullptr,
                                                  integers.data(),
                                                  reals.data(),
                                                  &workspace});
  std::vector<Results<E>> results(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p = 0; p < parts; ++p) {
      const std::vector<E> values = out.item(i * parts + p);
      results[i].value.insert(results[i].value.end(), values.begin(), values.end());
    }
    for (std::size_t j = 0; j < inputs; ++j) results[i].gradients.push_back(dx[j].item(i));
  }
  EXPECT_TRUE(out.is_clean_beside());
  for (std::size_t j = 0; j < inputs; ++j) {
    EXPECT_TRUE(dx[j].is_clean_beside()) << "gradient " << j;
  }
  return results;
}

struct Case {
  const char* op;
  std::function<OpCase(unsigned size)> shapes;
};

void PrintTo(const Case& tested, std::ostream* out) { *out << tested.op; }

std::vector<Case> cases() {
  const auto inputs = [](std::size_t count, std::vector<double> reals = {}) {
    return [=](unsigned size) {
      return OpCase{std::vector<Dim>(count, Dim({size})), {}, reals, 0.2, 3};
    };
  };
  const auto along = [](unsigned dimension) {
    return [=](unsigned size) {
      return OpCase{{dimension == 0 ? Dim({size, 3}) : Dim({3, size})}, {dimension}};
    };
  };
  std::vector<Case> all = {{"cross_entropy", inputs(1)},
                           {"softmax", along(0)},
                           {"log_softmax", along(1)},
                           {"sum", inputs(3)},
                           {"average", inputs(3)},
                           {"sum_dim", along(0)},
                           {"mean_dim", along(1)},
                           {"identity", inputs(1)},
                           {"dropout", inputs(1, {0.3})},
                           {"concatenate",
                            [](unsigned size) {
                              return OpCase{{Dim({size}), Dim({2})}, {0}};
                            }},
                           {"pick_range",
                            [](unsigned size) {
                              return OpCase{{Dim({size + 2})}, {0, size}};
                            }},
                           {"transpose", [](unsigned size) {
                              return OpCase{{Dim({3, size})}, {1, 0}};
                            }}};
  formulas::visit_all([&]<class F>() {
    all.push_back({F::name.data(), inputs(F::inputs, std::vector<double>(F::reals, 0.37))});
  });
  return all;
}

class KernelPlacesTest : public ::testing::TestWithParam<Case> {
 protected:
  template <class E>
  void check(const KernelSet& set, unsigned size) {
    const auto found = std::find_if(all_ops().begin(), all_ops().end(),
                                    [&](const Op* op) { return op->name == GetParam().op; });
    const OpCall call{*found, GetParam().shapes(size), GetParam().op};
    constexpr std::size_t kItems = 19;
    Random random(size);
    std::vector<Item> items = draw_items(call, kItems, random);
    // Some neighbours have the same number, some not.
    for (std::size_t i = 0; i < kItems; ++i) {
      for (double& real : items[i].reals) real = call.shapes.reals[0] * (i / 4 % 2 == 0 ? 1 : 0.5);
    }
    for (const bool choosy : {false, true}) {
      std::vector<Results<E>> alone;
      for (std::size_t i = 0; i < kItems; ++i) {
        const Layout layout = i % 2 == 0 ? Layout::at_begin : Layout::at_end;
        alone.push_back(run<E>(call, set.of(call), layout, std::span(&items[i], 1), i, choosy)[0]);
      }
      for (const Layout layout :
           {Layout::at_begin, Layout::at_end, Layout::joined, Layout::apart}) {
        const auto batch = run<E>(call, set.of(call), layout, items, 0, choosy);
        for (std::size_t i = 0; i < kItems; ++i) {
          ASSERT_TRUE(batch[i] == alone[i])
              << set.target << ", layout " << static_cast<int>(layout) << ", item " << i;
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, KernelPlacesTest, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.op); });

TEST_P(KernelPlacesTest, ItemsHaveTheBytesThatTheyHaveAlone) {
  for (const KernelSet& set : kernel_sets()) {
    for (unsigned size : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 50, 63, 64, 65, 130}) {
      if (kSlowBuild && (size > 17 || size % 4 > 1)) continue;
      SCOPED_TRACE(size);
      check<float>(set, size);
      check<double>(set, size);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace dynet_like::op_cases
