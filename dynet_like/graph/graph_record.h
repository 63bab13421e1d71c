// GraphRecord: the operations of a graph, and which of its expressions are still valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/exec/options.h"
#include "dynet_like/graph/expression.h"

namespace dynet_like::detail {

class Liveness;
class OneThread;
class Tape;
class TapeWriter;
struct ValueRef;

/// The tape of a graph, with its checkpoints and the generations of its handles (expressions).
class GraphRecord {
 public:
  /// Both arguments must outlive it.
  GraphRecord(TapeWriter& writer, const GraphOptions& options);
  ~GraphRecord();

  /// The writer of the tape. Throws UsageError for a spare graph of a minibatch.
  TapeWriter& writer() {
    if (calls_ != Calls::ignored) look_at_call();
    return writer_;
  }
  const Tape& tape() const { return tape_; }
  OneThread& user() const;
  const HandleSlot& slot() const { return *slot_; }
  const GraphOptions& options() const { return options_; }

  /// Whether a handle that is not stale is still recorded.
  bool is_recorded(const Expression& e) const;
  /// Throws UsageError for an expression of another graph, StateError for one that was reverted.
  ValueRef ref(const Expression& e, const char* user) const;
  /// The shape of a value, with the minibatch dimension; valid until the graph is cleared. Throws
  /// UsageError if there is no such value.
  const Dim& dim_of(std::uint32_t value) const;

  void label(const Expression& e, std::string name);

  /// The executor's number for the tape.
  void set_index(std::uint32_t index) { index_ = index; }
  std::uint32_t index() const { return index_; }
  void checkpoint(const Liveness& run);
  void revert(Liveness& run);
  /// Must not fail.
  void forget();

  /// A graph that is not in use is a spare one: calls that record throw.
  void use(bool in_use);
  /// From now on the graph only records a user's function (see TracedFunction), and never runs.
  void record_function();
  bool records_a_function() const { return records_function_; }

 private:
  struct Checkpoint;
  /// In earlier generations, values from number `values` on were others.
  struct Revert {
    std::uint32_t generation, values;
  };
  /// What happens at calls that record.
  enum class Calls : std::uint8_t { ignored, noted, refused };

  std::size_t values_kept_since(std::uint32_t generation) const;
  void look_at_call();

  OwnedHandleSlot slot_;
  TapeWriter& writer_;
  Tape& tape_;  ///< its own
  Calls calls_ = Calls::ignored;
  bool records_function_ = false;
  std::uint32_t index_ = 0;
  const GraphOptions& options_;
  std::vector<Checkpoint> checkpoints_;
  std::vector<Revert> reverts_;  ///< each kept fewer values than the next
  /// Shapes with a minibatch dimension; the type table has the others.
  mutable std::map<std::pair<std::uint32_t, std::uint32_t>, Dim> minibatch_dims_;
};

}  // namespace dynet_like::detail
