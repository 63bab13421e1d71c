// Merges symbols of a sequence that always stand together. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "batching/call_budget.h"
#include "batching/find_words.h"

namespace dynet_like::batching {

/// A sequence of symbols, which at first are types. Where a symbol A is always followed by the same
/// B, or B always preceded by the same A, the pair becomes a symbol of its own, again and again.
/// "Always" is strict, so that nothing is merged across the end of a loop's body: its last symbol
/// is followed by something else when the loop ends.
///
/// A merge must not cost batches. Every symbol has a chain, the batches that run its tokens; a type
/// is called as often as all symbols with it together, for which there is a budget.
class ForcedMerges {
 public:
  static constexpr std::uint32_t edge = UINT32_MAX;     ///< a token that ends a sample
  static constexpr std::uint32_t gap = UINT32_MAX - 1;  ///< one that keeps its neighbours apart
  static constexpr std::uint32_t fewest_tokens = 8;     ///< less often seen is no evidence
  static constexpr std::uint32_t most_types = 64;       ///< in a symbol

  /// A symbol of several types, and how many nodes fewer there are with it.
  struct Found {
    std::vector<std::uint32_t> types;
    std::uint64_t saved = 0;
  };

  /// `tokens` are types, edges and gaps; it begins and ends with an edge.
  ForcedMerges(std::span<const TypeFacts> facts, std::vector<std::uint32_t> tokens);

  /// Merges until nothing changes.
  void merge();
  /// After `merge`: takes out symbols that a neighbour with a much longer chain may not take in,
  /// and sets their types in `loose`. Returns whether there were any; then merging can go on.
  bool take_out_loose(std::vector<std::uint8_t>& loose);
  /// The symbols of several types that are left, in the order of their making.
  std::vector<Found> found() const;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// The number of batches that run the tokens of a symbol: as far as it is known, a range.
  struct Chain {
    std::uint32_t least = 1, most = 1;
  };
  struct Symbol {
    std::uint32_t left = none, right = none;  ///< what it was merged from; a type has none
    std::uint32_t length = 1;                 ///< in types
    Chain chain;                              ///< the batches that run its tokens
    bool costly = false;                      ///< has a type whose calls cost much
    // Taken anew before every round of merges.
    std::uint32_t count = 0;
    std::uint32_t sample = 0, in_sample = 0;  ///< the last sample that has it, its tokens there
    std::uint32_t most_in_sample = 0;
    std::uint32_t next = none, previous = none;  ///< the symbol beside all its tokens, or edge
    std::uint32_t run = 0;  ///< the length of all its runs; none if they differ
    // What it becomes in this round.
    std::uint32_t with_next = none, with_previous = none, with_run = none;
    bool is_left = false, is_right = false;
  };
  struct Pair {
    std::uint32_t left, right;
  };
  /// Pairs with one symbol in common, `shared`; the others stand in no other pairs.
  struct Group {
    std::uint32_t shared;
    bool shared_is_right;
    std::vector<Pair> pairs;
    std::uint32_t other(const Pair& pair) const { return shared_is_right ? pair.left : pair.right; }
  };

  void count_tokens();
  void shorten_chains();
  bool merge_runs();
  bool merge_pairs(bool shared_is_right);
  std::vector<Group> find_groups(bool shared_is_right) const;
  bool try_group(const Group& group);
  bool may_take(const Group& group, std::uint32_t taken) const;
  std::vector<Chain> chains_of(const Group& group, std::uint32_t taken) const;
  void change_calls(std::initializer_list<std::uint32_t> symbols, std::int64_t by);
  std::uint32_t add_symbol(std::uint32_t left, std::uint32_t right, Chain chain);
  void rewrite();
  template <class Use>
  void for_each_type(std::uint32_t symbol, const Use& use) const;

  std::vector<std::uint32_t> tokens_;
  std::vector<Symbol> symbols_;
  std::vector<std::uint32_t> alive_;  ///< symbols that have tokens, in the order of their making
  std::vector<Pair> refused_;         ///< pairs of the last round that would cost too many calls
  CallBudget budget_;
  std::vector<std::uint32_t> seen_;  ///< per type: the last stamp
  std::uint32_t stamp_ = 0;
  unsigned rounds_ = 0;
};

}  // namespace dynet_like::batching
