// Makes the calls of kernels from rows.
#include "dynet_like/exec/rows.h"

namespace dynet_like::detail {

namespace {

const void* behind(const void* numbers, std::size_t bytes) {
  return numbers == nullptr ? nullptr : static_cast<const std::byte*>(numbers) + bytes;
}

std::byte* behind(std::byte* numbers, std::size_t bytes) {
  return numbers == nullptr ? nullptr : numbers + bytes;
}

/// Selects the entries of lists that belong to some items, or to all.
class Choice {
 public:
  Choice(const Rows& rows, const std::uint32_t* items, std::size_t count, Arena& lists)
      : rows_(rows), items_(items), count_(count), lists_(lists) {}

  BackwardCall call(const Destination* dx) const {
    const Signature& signature = rows_.signature();
    const Op& op = *signature.op;
    BackwardCall call;
    call.type = &signature;
    call.n = count_;
    if (op.needs_inputs()) call.in = inputs();
    if (op.needs_output()) call.out.items = parts(rows_.out, rows_.out_parts);
    if (rows_.saved != nullptr) call.saved.items = places(rows_.saved, rows_.saved_stride(), 1);
    call.dy.items = parts(rows_.dy, rows_.dy_parts);
    call.dx = dx;
    if (rows_.deferred != nullptr) {
      call.deferred = places(rows_.deferred, rows_.deferred_stride(), 1);
    }
    call.integers = choose(rows_.integers, signature.integers);
    call.reals = signature.dtype == DType::f32
                     ? choose(static_cast<const float*>(rows_.reals), op.numbers.reals)
                     : static_cast<const void*>(
                           choose(static_cast<const double*>(rows_.reals), op.numbers.reals));
    return call;
  }

 private:
  // The entries of a list that belong to the items; the list itself if these are all items.
  template <class T>
  const T* choose(const T* all, std::size_t each) const {
    if (all == nullptr || items_ == nullptr) return all;
    T* const chosen = lists_.allocate_array<T>(count_ * each);
    T* next = chosen;
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t k = 0; k < each; ++k) *next++ = all[items_[i] * each + k];
    }
    return chosen;
  }
  void** places(std::byte* block, std::size_t stride, std::size_t each) const {
    auto** const all = lists_.allocate_array<void*>(count_ * each);
    void** next = all;
    for (std::size_t i = 0; i < count_; ++i) {
      std::byte* place = block + (items_ == nullptr ? i : items_[i]) * each * stride;
      for (std::size_t k = 0; k < each; ++k, place += stride) *next++ = place;
    }
    return all;
  }
  void* const* parts(std::byte* block, void* const* list) const {
    const std::size_t each = rows_.signature().op->parts;
    return list == nullptr ? places(block, rows_.stride() / each, each) : choose(list, each);
  }
  Operand* inputs() const {
    auto* const in = lists_.allocate_array<Operand>(rows_.type->inputs);
    for (unsigned j = 0; j < rows_.type->inputs; ++j) {
      in[j] = {choose(rows_.in[j].items, 1), rows_.in[j].shared, nullptr};
    }
    return in;
  }

  const Rows& rows_;
  const std::uint32_t* items_;
  std::size_t count_;
  Arena& lists_;
};

}  // namespace

Rows part_of(const Rows& rows, std::size_t first, std::size_t count, Arena& lists) {
  Rows part = rows;
  part.items = static_cast<std::uint32_t>(count);
  if (first == 0) return part;
  auto* const in = lists.allocate_array<Operand>(rows.type->inputs);
  for (unsigned j = 0; j < rows.type->inputs; ++j) {
    in[j] = rows.in[j];
    if (in[j].items != nullptr) in[j].items += first;
  }
  part.in = in;
  if (rows.integers != nullptr) part.integers += first * rows.signature().integers;
  part.reals = behind(rows.reals, first * rows.signature().op->numbers.reals * rows.element());
  part.out = behind(rows.out, first * rows.stride());
  part.saved = behind(rows.saved, first * rows.saved_stride());
  part.dy = behind(rows.dy, first * rows.stride());
  const std::size_t parts = first * rows.signature().op->parts;
  if (rows.out_parts != nullptr) part.out_parts += parts;
  if (rows.dy_parts != nullptr) part.dy_parts += parts;
  part.deferred = behind(rows.deferred, first * rows.deferred_stride());
  part.early.first = behind(rows.early.first, first * rows.early.products.size * rows.element());
  return part;
}

ForwardCall forward_call(const Rows& rows) {
  return {&rows.signature(),
          rows.items,
          rows.in,
          rows.out_parts == nullptr ? Output(rows.out, part_size(rows.signature()))
                                    : Output(rows.out_parts),
          rows.saved,
          rows.integers,
          rows.reals,
          nullptr,
          {rows.early.first, rows.early.products.size},
          rows.early.products.inputs};
}

BackwardCall backward_call(const Rows& rows, std::span<const std::uint32_t> items,
                           const Destination* dx, Arena& lists) {
  const bool all = items.empty() || items.size() == rows.items;
  const Choice choice(rows, all ? nullptr : items.data(), all ? rows.items : items.size(), lists);
  return choice.call(dx);
}

}  // namespace dynet_like::detail
