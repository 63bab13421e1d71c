// Learns from what was recorded which sequences of nodes are worth being run as cells.
#pragma once

#include <span>
#include <vector>

#include "batching/find_words.h"
#include "batching/place_words.h"
#include "dynet_like/exec/cell_choice.h"
#include "dynet_like/exec/cell_reasons.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Keeps recorded nodes until there are enough of them, and then fills the dictionary. It learns
/// again, from twice as many nodes, when twice as many as before ran in no cell; 64 times as many
/// if it found nothing new.
class CellLearner {
 public:
  /// Called before nodes run, tape by tape in the order of recording.
  void look_at(std::span<const NodeRef> pending, CommonState& common);
  /// So many nodes ran in no cell.
  void count_single_nodes(std::size_t nodes) { single_ += nodes; }
  /// So many graphs were run and cleared.
  void count_graphs(std::size_t graphs) { graphs_ += graphs; }
  /// What was not made cells when it last learned, most nodes first.
  std::span<const RefusedCell> refused() const { return refused_; }
  /// Begins anew; allocates nothing.
  void clear();

  /// What a call costs, in nodes that are planned and listed; 0: what it costs on the device. Tests
  /// want cells on every device, however small their batches are.
  inline static double nodes_per_call = 0;

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  /// What a pattern is made of: nodes as they were recorded, one sample after the other.
  struct Input {
    std::size_t producer;  ///< in the list of nodes; kNone: it had a value before
    std::uint64_t value;   ///< equal for equal values
    NodeId node;           ///< of its sample
    std::uint32_t offset;
    ShapeId shape;
    bool is_argument, blocks_gradient;
  };
  struct Found {
    std::vector<CellPattern> patterns;
    std::vector<std::size_t> times;  ///< by pattern
    std::vector<CellPlace> places;
  };

  std::span<const Input> inputs_of(std::size_t node) const {
    return std::span(inputs_).subspan(first_input_[node],
                                      first_input_[node + 1] - first_input_[node]);
  }
  void keep(std::span<const NodeRef> sample, const CommonState& common);
  void keep_inputs(std::span<const NodeRef> sample, std::size_t index, const Tape& tape);
  void forget_nodes();
  bool learn(CommonState& common);
  Found find_patterns(const batching::Words& words, std::span<const std::uint32_t> begin);
  bool has_one_order(std::span<const std::uint32_t> members,
                     std::span<const batching::Place> places, std::uint32_t first) const;
  static void add_place(CellPattern pattern, const std::vector<std::uint32_t>& members,
                        std::vector<std::uint32_t>& of_word, Found& found);
  void keep_frequent(std::vector<std::vector<std::uint32_t>>& of_word, Found& found);
  static void keep_what_was_not_there(const CellDictionary& dictionary,
                                      std::span<const batching::TypeFacts> facts,
                                      std::vector<CellPattern>& patterns,
                                      std::vector<std::uint8_t>& loose);
  void refuse_types(const TypeTable& table);
  void refuse(std::span<const TypeId> members, std::uint64_t times, CellReason reason);
  void keep_largest_refused();
  CellPattern pattern_at(std::span<const std::uint32_t> members) const;

  std::vector<TypeId> types_;
  std::vector<NodeId> nodes_;              ///< in their samples
  std::vector<std::uint8_t> is_foldable_;  ///< by node: has one item, and a type of all samples
  std::vector<std::uint32_t> first_input_{0}, first_of_sample_, first_of_run_;
  std::vector<Input> inputs_;
  std::uint64_t samples_ = 0;
  std::size_t graphs_ = 0;
  std::vector<RefusedCell> refused_;

  std::size_t enough_ = 0;  ///< nodes to learn from
  std::size_t wait_ = 0;    ///< nodes that run in no cell before it learns
  std::size_t single_ = 0;  ///< that ran in no cell since it last learned
};

}  // namespace dynet_like::detail
