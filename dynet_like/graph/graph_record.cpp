// GraphRecord: checks handles, and remembers reverts and shapes.
#include "dynet_like/graph/graph_record.h"

#include <algorithm>
#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/core/text.h"
#include "dynet_like/exec/liveness.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/tape/tape_writer.h"

namespace dynet_like::detail {

struct GraphRecord::Checkpoint {
  TapeWriter::Mark tape;
  Liveness::Mark run;
};

GraphRecord::GraphRecord(TapeWriter& writer, const GraphOptions& options)
    : slot_(acquire_handle_slot()), writer_(writer), tape_(writer.tape()), options_(options) {}

GraphRecord::~GraphRecord() = default;

OneThread& GraphRecord::user() const { return tape_.user(); }

bool GraphRecord::is_recorded(const Expression& e) const {
  return e.i <
         (Handle::is_latest(e) ? tape_.values().size() : values_kept_since(Handle::generation(e)));
}

// The smallest number of values that any revert since that generation has kept. Generations are
// compared by their distance from now, so that they may wrap around.
std::size_t GraphRecord::values_kept_since(std::uint32_t generation) const {
  const std::uint32_t now = slot_->generation;
  const auto first = std::upper_bound(reverts_.begin(), reverts_.end(), generation,
                                      [now](std::uint32_t made, const Revert& revert) {
                                        return now - made > now - revert.generation;
                                      });
  return first == reverts_.end() ? tape_.values().size() : first->values;
}

ValueRef GraphRecord::ref(const Expression& e, const char* user) const {
  if (&e.graph(user).record() != this) {
    throw UsageError(std::string("[") + user + "] need an expression of this graph; got one of " +
                     "another");
  }
  if (!is_recorded(e)) Handle::throw_reverted(user);
  return {index_, e.i};
}

const Dim& GraphRecord::dim_of(std::uint32_t id) const {
  const OneThread::Use use(user());
  if (id >= tape_.values().size()) {
    throw UsageError("[ComputationGraph] need a value below " +
                     std::to_string(tape_.values().size()) + "; got " + index_text(id));
  }
  const Value& value = tape_.value(id);
  if (value.items == 1) return tape_.shape_of(id).dim;
  const auto [found, is_new] = minibatch_dims_.try_emplace({value.shape, value.items});
  if (is_new) found->second = tape_.dim_of(id);
  return found->second;
}

void GraphRecord::label(const Expression& e, std::string name) {
  tape_.labels[tape_.value(ref(e, "label").value).node] = std::move(name);
}

void GraphRecord::checkpoint(const Liveness& run) {
  checkpoints_.push_back({writer_.mark(), run.mark(index_)});
}

void GraphRecord::revert(Liveness& run) {
  if (checkpoints_.empty()) throw UsageError("[revert] need a checkpoint before; got none");
  make_room(reverts_);  // nothing fails from here on
  const Checkpoint checkpoint = checkpoints_.back();
  checkpoints_.pop_back();
  run.revert(index_, checkpoint.tape.nodes, checkpoint.run);
  writer_.revert(checkpoint.tape);
  const auto kept = static_cast<std::uint32_t>(checkpoint.tape.values);
  while (!reverts_.empty() && reverts_.back().values >= kept) reverts_.pop_back();
  reverts_.push_back({++slot_->generation, kept});
}

void GraphRecord::forget() {
  slot_->start_anew();
  writer_.revert({});
  checkpoints_.clear();
  reverts_.clear();
  minibatch_dims_.clear();
}

void GraphRecord::use(bool in_use) {
  calls_ = !in_use ? Calls::refused : options_.record_places ? Calls::noted : Calls::ignored;
}

void GraphRecord::look_at_call() {
  if (calls_ == Calls::refused) {
    throw UsageError(
        "[ComputationGraph] need a graph of a minibatch that is in use; got one that was "
        "cleared: ask for a new_graph");
  }
  tape_.calls.note(static_cast<NodeId>(tape_.size()));
}

void GraphRecord::record_function() {
  records_function_ = true;
  writer_.record_function();
}

}  // namespace dynet_like::detail
