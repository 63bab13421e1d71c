// Sums the gradients of shared values.
#include "dynet_like/exec/shared_gradients.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "dynet_like/exec/checks.h"
#include "dynet_like/exec/run_rows.h"

namespace dynet_like::detail {

void SharedGradients::begin() {
  for (const Identity identity : common_.met_shared) common_.shared[identity].has_gradient = false;
  contributions_.reset();
  own_.clear();
}

void SharedGradients::add(SharedContributions& contributions, Queue& queue, Gradients& gradients) {
  for (const Target& target : contributions.targets()) {
    add(SharedContributions::all_of(target), queue, gradients);
  }
  contributions.clear();
}

// Parameters that only samples read come first, one by one, in an order that does not depend on the
// record. Then, shard by shard, come all others, and the values of parameters alone, whose
// gradients are passed on to parameters.
void SharedGradients::add_shards(std::span<const SharedContributions* const> lanes, RunState& lane,
                                 Queue& queue, std::span<Gradients> gradients,
                                 const OnComplete& complete) {
  begin();
  find_recording_order();
  std::set<std::pair<std::size_t, Identity>> single;  // with the index of the parameter
  std::set<Identity> others;
  for (const SharedContributions* of_lane : lanes) {
    for (const Target& target : of_lane->targets()) {
      if (only_samples_read(target.identity)) {
        single.emplace(common_.shared[target.identity].parameter->index, target.identity);
      } else {
        others.insert(target.identity);
      }
    }
  }
  const auto add_shard = [&](Identity identity, std::size_t shard) {
    for (const SharedContributions* of_lane : lanes) {
      const Target* const target = of_lane->find(identity);
      if (target != nullptr) {
        add(SharedContributions::of_shard(*target, shard), queue, gradients[shard]);
      }
    }
  };
  for (const auto& [index, identity] : single) {
    for (std::size_t shard = 0; shard < gradients.size(); ++shard) add_shard(identity, shard);
    if (!complete) continue;
    queue.submit();
    complete(*common_.shared[identity].parameter);
  }
  for (std::size_t shard = 0; shard < gradients.size(); ++shard) {
    begin();
    for (const Identity identity : others) add_shard(identity, shard);
    finish(lane, queue, gradients[shard]);
  }
}

bool SharedGradients::only_samples_read(Identity identity) const {
  const SharedValue& shared = common_.shared[identity];
  if (shared.parameter == nullptr || shared.parameter->is_table) return false;
  return std::none_of(recorded_.begin(), recorded_.end(), [&](Identity node) {
    const std::vector<SharedInput>& inputs = common_.shared[node].inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const SharedInput& input) { return input.producer == identity; });
  });
}

void SharedGradients::add(const Selection& series, Queue& queue, Gradients& gradients) {
  if (series.begin == series.end) return;
  SharedValue& shared = common_.shared[series.target->identity];
  const Signature& signature = common_.types()[shared.type].signature;
  bool fresh = false;
  if (shared.parameter == nullptr) {
    std::byte* sum = derived_gradient(shared, fresh);
    add_all(series, queue, signature.dtype, sum, signature.output_size * shared.items, fresh);
  } else {
    ParameterStorage& parameter = *shared.parameter;
    if (parameter.is_table) {
      add_to_table(series, queue, parameter, gradients);
    } else {
      auto* sum = static_cast<std::byte*>(gradients.dense(parameter, fresh));
      add_all(series, queue, signature.dtype, sum, parameter.size(), fresh);
      check(shared, sum);
    }
  }
}

// Rows are added one by one. If the table was also used as a whole, or in another shape, a gradient
// of all rows is made for it.
void SharedGradients::add_to_table(const Selection& series, Queue& queue, ParameterStorage& table,
                                   Gradients& gradients) {
  const std::span<const SharedContributions::Series> all = series.all();
  const bool as_whole = std::any_of(all.begin(), all.end(), [&](const auto& some) {
    return some.slice.kind != SharedGradient::rows || some.slice.offset != 0 ||
           some.slice.rows != table.entry_size();
  });
  Gradients::Rows& rows = gradients.rows(table);
  std::vector<std::uint32_t> touched;
  if (as_whole) {
    touched.resize(table.rows());
    std::iota(touched.begin(), touched.end(), 0);
  } else {
    for (const auto& some : all) touched.push_back(some.slice.row);
  }
  rows.touch(table, touched);
  if (!as_whole) {
    for (std::size_t r = 0; r < all.size(); ++r) {
      queue.add_all(table.dtype, rows.entry(table, all[r].slice.row), table.entry_size(),
                    series.addends(r));
    }
    return;
  }
  const std::size_t entry = table.entry_size(), bytes = entry * size_of(table.dtype);
  auto* const whole = contributions_.allocate_array<std::byte>(table.rows() * bytes);
  const auto copy = [&](std::byte* to, const void* from) {
    queue.add_all(table.dtype, to, entry, {&from, nullptr, 1}, SumStart::first);
  };
  for (std::uint32_t row = 0; row < table.rows(); ++row) {
    copy(whole + row * bytes, rows.entry(table, row));
  }
  queue.finish_sums();
  add_all(series, queue, table.dtype, whole, table.size(), false);
  queue.finish_sums();
  for (std::uint32_t row = 0; row < table.rows(); ++row) {
    copy(rows.entry(table, row), whole + row * bytes);
  }
}

// `fresh`: the sum, of `size` elements, is not initialised.
void SharedGradients::add_all(const Selection& all, Queue& queue, DType dtype, std::byte* sum,
                              std::size_t size, bool fresh) {
  // On a GPU, accumulation changes the order of addends anyway, and each series would be a launch.
  const bool groups = all.end - all.begin > 1 && !common_.options.device->is_cpu();
  const Target of_places = groups ? all.grouped() : Target();
  const Selection series = groups ? SharedContributions::all_of(of_places) : all;
  for (std::size_t r = 0; r < series.all().size(); ++r) {
    const SharedContributions::Slice& slice = series.all()[r].slice;
    if (fresh && std::size_t{slice.rows} * slice.columns != size) {
      queue.add_all(dtype, sum, size, {}, SumStart::zero);
      fresh = false;
    }
    const std::size_t at = slice.offset + std::size_t{slice.row} * slice.rows;
    std::byte* to = sum + at * size_of(dtype);
    if (slice.kind == SharedGradient::outer_product) {
      queue.add_outer_products(dtype, {to, slice.rows, slice.columns, series.addends(r), fresh});
    } else {
      queue.add_all(dtype, to, slice.rows, series.addends(r),
                    fresh ? SumStart::zero : SumStart::there);
    }
    fresh = false;
  }
}

// The sum of the contributions of consumers; `fresh`: there are none so far, not even zeros.
std::byte* SharedGradients::derived_gradient(SharedValue& shared, bool& fresh) {
  fresh = !shared.has_gradient;
  if (shared.gradient == nullptr) {
    const Signature& signature = common_.types()[shared.type].signature;
    const std::size_t bytes = signature.output_size * shared.items * size_of(signature.dtype);
    shared.gradient = common_.shared_values.allocate_array<std::byte>(bytes);
  }
  shared.has_gradient = true;
  return shared.gradient;
}

// Goes from the last to the first in recording order, so that consumers come before their inputs.
// The order of identities would not do: it depends on graphs that were cleared.
void SharedGradients::finish(RunState& lane, Queue& queue, Gradients& gradients) {
  find_recording_order();
  for (std::size_t i = recorded_.size(); i-- > 0;) {
    const SharedValue& shared = common_.shared[recorded_[i]];
    if (shared.has_gradient) pass_on(lane, queue, shared, gradients);
  }
}

// Finds the identities of shared nodes, ordered by first occurrence.
void SharedGradients::find_recording_order() {
  for (const Identity identity : recorded_) is_recorded_[identity] = false;
  recorded_.clear();
  is_recorded_.resize(common_.shared.size());
  for (const TapeState& tape : common_.tapes) {
    for (NodeId node : tape.tape->shared_nodes()) {
      const Identity identity = tape.tape->value(tape.tape->node(node).value).identity;
      if (identity >= is_recorded_.size() || is_recorded_[identity]) continue;
      recorded_.push_back(identity);
      is_recorded_[identity] = true;  // set last: the next call resets those in recorded_
    }
  }
}

// Runs the kernel of a shared node backward, and adds what it contributes to its inputs.
void SharedGradients::pass_on(RunState& lane, Queue& queue, const SharedValue& shared,
                              Gradients& gradients) {
  const Batch& batch = lane.batches[shared.batch];
  check(shared, shared.gradient);
  lists_.reset();
  const auto first = static_cast<std::size_t>(shared.value - batch.out) / batch.stride();
  Rows rows = part_of(batch, first, shared.items, lists_);
  rows.dy = shared.gradient;
  if (rows.deferred_stride() > 0) {
    rows.deferred = contributions_.allocate_array<std::byte>(shared.items * rows.deferred_stride());
  }
  const std::vector<std::byte*> slots = make_slots(shared, *rows.type);
  std::vector<Destination> dx(rows.type->inputs);
  const std::vector<std::uint8_t> adds(shared.items, 0);
  for (unsigned j = 0; j < rows.type->inputs; ++j) {
    if (slots[j] == nullptr) continue;
    const std::size_t bytes = rows.signature().inputs[j].size() * rows.element();
    auto** const places = lists_.allocate_array<void*>(shared.items);
    for (std::size_t i = 0; i < shared.items; ++i) places[i] = slots[j] + i * bytes;
    dx[j] = {places, adds.data()};
  }
  backward_rows(lane, queue, rows, {{}, dx.data()}, lane.counts.of_types[shared.type], lists_);
  contribute(shared, rows, slots);
  add(own_, queue, gradients);
}

// By input: the place where the kernel writes one contribution per item, or null.
std::vector<std::byte*> SharedGradients::make_slots(const SharedValue& shared,
                                                    const NodeType& type) {
  std::vector<std::byte*> slots(type.inputs);
  for (unsigned j = 0; j < type.inputs; ++j) {
    const Value& value = shared.inputs[j].value;
    if (!value.reaches_parameter || type.shared_gradients[j] != SharedGradient::dense) continue;
    const Shape& shape = common_.types().shape(value.shape);
    slots[j] = contributions_.allocate_array<std::byte>(std::size_t{shared.items} * shape.size *
                                                        size_of(shape.dtype));
  }
  return slots;
}

void SharedGradients::contribute(const SharedValue& shared, const Rows& rows,
                                 const std::vector<std::byte*>& slots) {
  const NodeType& type = *rows.type;
  for (unsigned j = 0; j < type.inputs; ++j) {
    const SharedInput& input = shared.inputs[j];
    if (!input.value.reaches_parameter) continue;
    SharedContributions::Consumer node{&type, shared.items, j, &input.value, input.producer};
    if (j + 1 < type.inputs) {
      node.factor = &shared.inputs[j + 1].value;
      node.factor_node = common_.shared[shared.inputs[j + 1].producer].value;
    }
    node.integers = {rows.integers, shared.items * type.signature.integers};
    node.slots = slots[j];
    own_.contribute(node, rows.contributions().at(0));
  }
}

// For detect_anomaly: checks gradients of values that are not nodes of a batch.
void SharedGradients::check(const SharedValue& shared, const std::byte* gradient) const {
  if (!common_.options.detect_anomaly) return;
  const NodeType& type = common_.types()[shared.type];
  const std::size_t size = type.signature.output_size * shared.items;
  check_finite(common_, "gradient", type.signature.dtype, gradient, size, [&](std::size_t&) {
    return shared.parameter != nullptr
               ? "parameter " + shared.parameter->name
               : std::string(type.op->name) + ", computed once for all samples";
  });
}

}  // namespace dynet_like::detail
