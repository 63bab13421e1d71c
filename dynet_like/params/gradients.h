// Gradients: what a backward pass produces and a trainer consumes, an object of its own.
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

/// The gradients of parameters: per collection one dense buffer, and touched rows per table.
///
/// Backward passes add to it, in recording order, so that accumulating two minibatches gives the
/// bits of one that has both. Threads have their own; `add` merges them.
class Gradients {
 public:
  /// The touched rows of a table, in the order of their first touch, entries one behind the other.
  struct Rows {
    std::vector<std::uint32_t> rows;
    detail::Block values;                    ///< memory of the device, with room for more
    std::vector<std::uint32_t> slot_of_row;  ///< slot + 1, or 0 if untouched

    /// Makes entries of zeros for those of these rows that have none. Entries may move.
    void touch(const ParameterStorage& table, std::span<const std::uint32_t> new_rows);
    void touch(const detail::CollectionLayout& layout, std::size_t index,
               std::span<const std::uint32_t> new_rows);
    /// The entry of a row, of zeros if it is new.
    std::byte* entry(const ParameterStorage& table, std::uint32_t row) {
      if (row >= slot_of_row.size() || slot_of_row[row] == 0) touch(table, std::span(&row, 1));
      return values.data() + (slot_of_row[row] - 1) * table.entry_size() * size_of(table.dtype);
    }
    /// The same, or null.
    const std::byte* find(const ParameterStorage& table, std::uint32_t row) const;
  };

  /// Forgets all; keeps the memory, but for collections that are gone. Works whatever failed
  /// before, and cannot fail.
  void clear();
  /// The same for one parameter, and for those of a collection.
  void clear(const ParameterStorage& parameter);
  void clear(const ParameterCollection& collection);
  bool empty() const { return parts_.empty(); }
  /// Whether a parameter of this collection's storage has one.
  bool has_any_of(const ParameterCollection& collection) const;
  /// A trainer has updated parameters with them: until they are cleared, or scaled, a backward pass
  /// must not add to them. Several trainers may say so at once.
  void mark_used() const { std::atomic_ref(is_used_).store(true, std::memory_order_relaxed); }
  bool is_used() const { return std::atomic_ref(is_used_).load(std::memory_order_relaxed); }
  /// What a backward pass asks before it adds to them: throws UsageError if they are used.
  void check_not_used() const;
  /// The names of all parameters that have one.
  std::vector<std::string> names() const;

  /// The gradient of a parameter, to add to; zero if there was none.
  void* dense(const ParameterStorage& parameter);
  /// The same, but what was zero may hold anything: `fresh` says so.
  void* dense(const ParameterStorage& parameter, bool& fresh);
  Rows& rows(const ParameterStorage& table);

  /// The same to read; null if nothing was added.
  const void* find_dense(const ParameterStorage& parameter) const;
  const Rows* find_rows(const ParameterStorage& table) const;

  /// The gradient of a parameter as numbers (zeros if nothing was added).
  std::vector<float> values(const Parameter& parameter) const;
  std::vector<float> values(const LookupParameter& table, unsigned row) const;
  /// The dense gradient of a parameter, or all rows of a table; none if nothing was added.
  std::vector<float> all_values(const ParameterStorage& storage) const;
  std::vector<double> all_doubles(const ParameterStorage& storage) const;
  /// Replaces that by numbers, of all rows of a table; by nothing if there are none.
  void set_values(const ParameterStorage& storage, std::span<const float> numbers);

  /// Where they lie on the device: the dense one, or the touched rows.
  std::vector<detail::Stretch> stretches(const ParameterStorage& storage) const;

  /// Adds another object's gradients to these.
  void add(const Gradients& other);
  /// Multiplies all of them, such as by 1 / n for those of the mean of n losses. Throws UsageError
  /// unless the factor is finite.
  void scale(double factor);

  /// The Euclidean norm of the gradients of a collection's updated parameters, or of all of them.
  double norm(const ParameterCollection& collection, bool of_all = false) const;
  /// That of these parameters, which belong to one collection.
  double norm(std::span<const std::shared_ptr<ParameterStorage>> parameters) const;

 private:
  struct Part {
    std::shared_ptr<detail::CollectionLayout> layout;
    detail::Block dense;             // of the collection's dense_size when it was made
    std::vector<std::uint8_t> used;  // per parameter: its gradient is valid
    std::vector<Rows> tables;        // per parameter; empty for all but tables

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
