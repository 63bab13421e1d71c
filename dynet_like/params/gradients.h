// Gradients: the result of a backward pass and the input of a trainer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/params/parameter_collection.h"

namespace dynet_like {

namespace detail {
struct Stretch;
}

/// The gradients of parameters: one dense buffer per collection, and the touched rows per table.
///
/// Backward passes add to it in recording order, so that accumulating two minibatches gives the
/// same bits as one minibatch with both. Each thread has its own object; `add` merges them.
class Gradients {
 public:
  /// The touched rows of a table, in the order of first touch. Entries lie one behind the other.
  struct Rows {
    std::vector<std::uint32_t> rows;
    detail::Block values;                    ///< memory of the device; may be larger than needed
    std::vector<std::uint32_t> slot_of_row;  ///< slot + 1, or 0 if untouched

    /// Adds entries of zeros for those of these rows that have none. Entries may move.
    void touch(const ParameterStorage& table, std::span<const std::uint32_t> new_rows);
    void touch(const detail::CollectionLayout& layout, std::size_t index,
               std::span<const std::uint32_t> new_rows);
    /// The entry of a row; zeros if it is new.
    std::byte* entry(const ParameterStorage& table, std::uint32_t row) {
      if (row >= slot_of_row.size() || slot_of_row[row] == 0) touch(table, std::span(&row, 1));
      return values.data() + (slot_of_row[row] - 1) * table.entry_size() * size_of(table.dtype);
    }
    /// The same, or null.
    const std::byte* find(const ParameterStorage& table, std::uint32_t row) const;
  };

  /// Removes all gradients. Keeps the memory, except for collections that no longer exist. Works
  /// after any failure, and cannot fail.
  void clear();
  /// The same for one parameter, and for the parameters of a collection.
  void clear(const ParameterStorage& parameter);
  void clear(const ParameterCollection& collection);
  bool empty() const { return parts_.empty(); }
  /// Whether any parameter of this collection has a gradient.
  bool has_any_of(const ParameterCollection& collection) const;
  /// Notes that a trainer has used these gradients in an update: until they are cleared or scaled,
  /// a backward pass must not add to them. Several trainers may call this at the same time.
  void mark_used() const { std::atomic_ref(is_used_).store(true, std::memory_order_relaxed); }
  bool is_used() const { return std::atomic_ref(is_used_).load(std::memory_order_relaxed); }
  /// Called before a backward pass adds to these gradients. Throws UsageError if they are used.
  void check_not_used() const;
  /// The names of all parameters that have a gradient.
  std::vector<std::string> names() const;

  /// The gradient of a parameter, to add to; zeros if there was none.
  void* dense(const ParameterStorage& parameter);
  /// The same, but a new gradient is not set to zero: then `fresh` is set.
  void* dense(const ParameterStorage& parameter, bool& fresh);
  Rows& rows(const ParameterStorage& table);

  /// The same for reading; null if nothing was added.
  const void* find_dense(const ParameterStorage& parameter) const;
  const Rows* find_rows(const ParameterStorage& table) const;

  /// The gradient of a parameter as numbers (zeros if nothing was added).
  std::vector<float> values(const Parameter& parameter) const;
  std::vector<float> values(const LookupParameter& table, unsigned row) const;
  /// The dense gradient of a parameter, or all rows of a table; empty if nothing was added.
  std::vector<float> all_values(const ParameterStorage& storage) const;
  std::vector<double> all_doubles(const ParameterStorage& storage) const;
  /// Replaces a gradient by these numbers, for all rows of a table; by none if there are no
  /// numbers.
  void set_values(const ParameterStorage& storage, std::span<const float> numbers);

  /// The memory of a parameter's gradient on the device: the dense one, or the touched rows.
  std::vector<detail::Stretch> stretches(const ParameterStorage& storage) const;

  /// Adds another object's gradients to these.
  void add(const Gradients& other);
  /// Multiplies all gradients by a factor, for example by 1 / n for the mean of n losses. Throws
  /// UsageError unless the factor is finite.
  void scale(double factor);

  /// The Euclidean norm of the gradients of a collection's updated parameters, or of all of them.
  double norm(const ParameterCollection& collection, bool of_all = false) const;
  /// The norm of the gradients of these parameters, which must belong to one collection.
  double norm(std::span<const std::shared_ptr<ParameterStorage>> parameters) const;

 private:
  struct Part {
    std::shared_ptr<detail::CollectionLayout> layout;
    detail::Block dense;             // as large as the collection's dense_size when it was made
    std::vector<std::uint8_t> used;  // per parameter: whether its dense gradient is valid
    std::vector<Rows> tables;        // per parameter; empty unless it is a table

    bool has(std::size_t index) const { return used[index] != 0 || !tables[index].rows.empty(); }
    void clear(std::size_t index);
  };

  Part& part(const std::shared_ptr<detail::CollectionLayout>& layout);
  void* dense(Part& part, std::size_t index, bool& fresh);
  void* dense(Part& part, std::size_t index);
  const Part* find_part(const ParameterStorage& parameter) const;

  std::vector<Part> parts_;
  mutable bool is_used_ = false;
};

}  // namespace dynet_like
