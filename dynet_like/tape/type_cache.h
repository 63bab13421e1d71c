// The part of a TypeTable that one recording thread has seen, so that it need not ask again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/tape/type_table.h"

namespace dynet_like::detail {

/// Samples that are recorded in parallel look up known entries without waiting. They enter new ones
/// in the order of samples, so that all numbers are the same as for samples recorded one by one.
class Turn {
 public:
  /// Waits until all samples before this one have been recorded. Throws if one of them failed.
  virtual void wait_for_those_before(std::size_t sample) = 0;

 protected:
  ~Turn() = default;
};

/// The first word of each identity's key, so that keys of different kinds differ.
enum class IdentityKind : std::uint64_t { parameter, constant_parameter, view, node };

/// A range of `length` elements along dimension d of a shape, as pick_range sees it.
struct RangeShape {
  ShapeId from = ~ShapeId{0};
  std::uint32_t d = 0, length = 0;
  ShapeId to = 0;
  ShapeId without_d = 0;         ///< the shape of one element, without the dimension
  std::uint32_t inner = 0;       ///< elements between neighbours along the dimension
  std::uint32_t last_start = 0;  ///< the largest start that fits
  bool is_contiguous = false;
};

/// The facts that a tape needs to record a parameter.
struct ParameterSource {
  std::uint32_t storage = Interner::kNone;  ///< the number of its storage
  const NodeType* type = nullptr;
  Identity identity[2] = {};     ///< not constant and constant; 0: not requested yet
  std::uint64_t kept_after = 0;  ///< TypeTable::trims when the table was last told to keep it
};

/// Gives the same answers as the table, mostly without its lock. Only one thread at a time uses it.
class TypeCache {
 public:
  /// `beside_others`: graphs that record with this cache have a thread of their own, while other
  /// threads record the table's other graphs.
  explicit TypeCache(TypeTable& table, bool beside_others = false)
      : table_(table), user_(beside_others ? own_user_ : table.user) {
    forget();
  }
  TypeCache(const TypeCache&) = delete;
  TypeCache& operator=(const TypeCache&) = delete;

  /// The lock on the graphs that record with this cache.
  OneThread& user() const { return user_; }

  /// From now on a sample is recorded in parallel to others; a null `turn` means alone.
  void begin_sample(Turn* turn, std::size_t sample) {
    turn_ = turn;
    sample_ = sample;
  }
  void end_sample() { turn_ = nullptr; }

  /// The type that was last requested with a similar hash, or one without an op. It may be a
  /// different type, so the caller must compare it.
  const NodeType& recent_type(std::uint64_t hash) const { return *recent_[hash >> kRecentShift]; }
  /// The type of a node with these inputs, remembered under `hash`. Throws ShapeError or UsageError
  /// if the op has no such type.
  const NodeType& type(std::uint64_t hash, const Op& op, std::span<const InputKey> inputs,
                       std::span<const std::uint32_t> attributes) {
    return *(recent_[hash >> kRecentShift] = &type(op, inputs, attributes));
  }
  const NodeType& type(const Op& op, std::span<const InputKey> inputs,
                       std::span<const std::uint32_t> attributes);
  /// The two types that last followed nodes of these two types, as a guess for the next one, since
  /// programs repeat themselves. A type without an op means none.
  struct Next {
    const NodeType *last, *before;
  };
  const Next& types_after(TypeId a, TypeId b) const { return after_[after_place(a, b)]; }
  void note_type_after(TypeId a, TypeId b, const NodeType& type) {
    Next& next = after_[after_place(a, b)];
    next = {&type, next.last};
  }
  /// The type of a source, whose attributes contain the shape.
  const NodeType& source_type(const Op& op, const Dim& dim, DType dtype);

  static std::uint64_t start_hash(const Op& op) { return reinterpret_cast<std::uintptr_t>(&op); }
  static std::uint64_t add_to_hash(std::uint64_t hash, std::uint64_t word) {
    return (hash + word) * 0x9E3779B97F4A7C15ull;
  }

  /// The number of a shape of one item.
  ShapeId shape(const Dim& item, DType dtype);

  /// The shape of a range if it was requested recently, or null.
  const RangeShape* recent_range(ShapeId from, std::uint32_t d, std::uint32_t length) const {
    const RangeShape& known = ranges_[range_place(from, d, length)];
    return known.from == from && known.d == d && known.length == length ? &known : nullptr;
  }
  /// The shape of a range. Throws ShapeError if there is no such range. Valid until the next call.
  const RangeShape& range(ShapeId from, std::uint32_t d, std::uint32_t length) {
    const RangeShape* known = recent_range(from, d, length);
    return known != nullptr ? *known : describe_range(from, d, length);
  }

  /// The facts of a parameter. Valid until the next call.
  const ParameterSource& parameter(const std::shared_ptr<ParameterStorage>& storage, bool constant);

  /// The identity of a value that depends only on parameters, constants and these words.
  Identity identity(std::span<const std::uint64_t> words);

  /// A number for a value of one graph that nodes use as a shared argument.
  std::uint32_t unique_argument();

  /// Removes all entries. Must be called when the table has removed its own.
  void forget();

 private:
  static constexpr int kRecentBits = 9;
  static constexpr int kRecentShift = 64 - kRecentBits;
  static constexpr int kRangeBits = 6;
  static constexpr int kRangeShift = 64 - kRangeBits;

  struct Known {
    Interner keys;
    std::vector<std::uint32_t> numbers;  ///< in the table, by the number of the key here
  };

  static std::size_t range_place(ShapeId from, std::uint32_t d, std::uint32_t length) {
    return add_to_hash(from, std::uint64_t{length} << 32 | d) >> kRangeShift;
  }
  static std::size_t after_place(TypeId a, TypeId b) {
    return add_to_hash(a, std::uint64_t{b} << 32) >> kRecentShift;
  }
  template <class Enter>
  std::uint32_t number(TypeTable::Kind kind, std::span<const std::uint64_t> key, Enter enter);
  const RangeShape& describe_range(ShapeId from, std::uint32_t d, std::uint32_t length);

  TypeTable& table_;
  OneThread own_user_;
  OneThread& user_;
  Turn* turn_ = nullptr;
  std::size_t sample_ = 0;
  std::array<const NodeType*, std::size_t{1} << kRecentBits> recent_;
  std::array<Next, std::size_t{1} << kRecentBits> after_;  ///< by two types
  std::array<RangeShape, std::size_t{1} << kRangeBits> ranges_;
  std::array<Known, TypeTable::kKinds> known_;
  std::vector<ParameterSource> parameters_;  ///< by the number of the key here
  std::vector<std::uint64_t> words_;         ///< the key that is being looked up
};

}  // namespace dynet_like::detail
