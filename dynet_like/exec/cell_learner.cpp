// From recorded nodes to words of types, and from the occurrences of words to patterns.
#include "dynet_like/exec/cell_learner.h"

#include <algorithm>

#include "batching/lower_bound.h"

namespace dynet_like::detail {

namespace {

constexpr std::size_t kMost = 32768;  ///< nodes to learn from
// Learning from a node takes about as long as running one. So a graph that is the only one so far,
// and may be the only one ever, is learned from only a part of; and with time it is done rarely.
constexpr std::size_t kPartAlone = 32;
constexpr std::size_t kInVain = 64;  ///< times as many nodes as were learned from, or waited for
constexpr std::size_t kLongestWait = std::size_t{1} << 24;  ///< nodes
/// What a call costs, in nodes that are planned and listed; on a GPU it is a launch.
constexpr double kNodesPerCall = 19, kNodesPerLaunch = 100;
constexpr std::size_t kMostCellTypes = 256;
constexpr std::size_t kFewest = 8;         ///< occurrences that make a pattern worth it
constexpr std::size_t kMostOfAWord = 4;    ///< patterns
constexpr std::size_t kMostCompared = 64;  ///< patterns of a word
constexpr std::size_t kMostRefused = 8;    ///< sequences to tell of
constexpr std::uint32_t kDropped = ~std::uint32_t{0};

double cost_of_call(Device& device) {
  if (CellLearner::nodes_per_call > 0) return CellLearner::nodes_per_call;
  return device.is_cpu() ? kNodesPerCall : kNodesPerLaunch;
}

bool is_foldable(const Op& op) {
  return op.batching.open_inputs == 0 && op.role != Role::recursion;
}
bool is_foldable(const Tape& tape, NodeId node) {
  return tape.items_of(node) == 1 && is_foldable(*tape.type_of(node).op);
}

// What a call costs, in calls of a product: what is done element by element costs little.
float call_cost(const NodeType& type) {
  return type.has_shared_input || type.signature.integers > 0 ? 1.0f : 0.1f;
}

}  // namespace

void CellLearner::clear() {
  forget_nodes();
  refused_.clear();
  enough_ = wait_ = single_ = graphs_ = 0;
}

void CellLearner::look_at(std::span<const NodeRef> pending, CommonState& common) {
  if (pending.empty() || single_ < wait_) return;
  enough_ = std::max(enough_, common.options.cells_after);
  const bool is_only_graph = graphs_ + common.tapes.size() == 1;
  if (is_only_graph && pending.size() < kPartAlone * enough_) return;
  const std::size_t most = is_only_graph ? pending.size() / kPartAlone : kMost;
  try {
    first_of_run_.push_back(static_cast<std::uint32_t>(types_.size()));
    for (std::size_t i = 0; i < pending.size() && types_.size() < most;) {
      std::size_t end = i;
      while (end < pending.size() && pending[end].tape == pending[i].tape) ++end;
      keep(pending.subspan(i, end - i), common);
      i = end;
    }
    if (types_.size() < enough_) return;
    wait_ = learn(common) ? 2 * std::max(wait_, enough_) : kInVain * std::max(wait_, types_.size());
    wait_ = std::min(wait_, kLongestWait);
  } catch (...) {
    forget_nodes();
    throw;
  }
  forget_nodes();
  single_ = 0;
  enough_ = std::min(2 * enough_, kMost);
}

// The memory goes, too: it is needed no more once enough was learned.
void CellLearner::forget_nodes() {
  std::vector<TypeId>().swap(types_);
  std::vector<NodeId>().swap(nodes_);
  std::vector<std::uint8_t>().swap(is_foldable_);
  std::vector<Input>().swap(inputs_);
  first_input_.resize(1);
  first_of_sample_.clear();
  first_of_run_.clear();
}

void CellLearner::keep(std::span<const NodeRef> sample, const CommonState& common) {
  const Tape& tape = *common.tapes[sample[0].tape].tape;
  ++samples_;
  first_of_sample_.push_back(static_cast<std::uint32_t>(types_.size()));
  for (std::size_t i = 0; i < sample.size(); ++i) {
    is_foldable_.push_back(is_foldable(tape, sample[i].node));
    types_.push_back(tape.node(sample[i].node).type);
    nodes_.push_back(sample[i].node);
    keep_inputs(sample, i, tape);
    first_input_.push_back(static_cast<std::uint32_t>(inputs_.size()));
  }
}

void CellLearner::keep_inputs(std::span<const NodeRef> sample, std::size_t index,
                              const Tape& tape) {
  const std::size_t first = first_of_sample_.back();
  const NodeType& type = tape.type_of(sample[index].node);
  const std::span<const ValueId> ids = tape.inputs_of(sample[index].node);
  for (std::uint32_t j = 0; j < type.inputs; ++j) {
    const Value& value = tape.value(ids[j]);
    // The nodes of a sample stand in ascending order.
    const auto before = [](NodeRef a, NodeId b) { return a.node < b; };
    const auto found = std::lower_bound(sample.begin(), sample.end(), value.node, before);
    const bool runs = found != sample.end() && found->node == value.node;
    const std::size_t producer =
        runs ? first + static_cast<std::size_t>(found - sample.begin()) : kNone;
    inputs_.push_back({producer, samples_ << 32 | ids[j], value.node, value.offset, value.shape,
                       type.signature.shared[j] != 0, value.blocks_gradient});
  }
}

// Returns whether that changed anything.
bool CellLearner::learn(CommonState& common) {
  const TypeTable& table = common.tapes.front().tape->types();
  const std::size_t node_types = table.type_count();
  std::vector<std::uint32_t> producers, first{0};
  for (std::size_t n = 0; n < types_.size(); ++n) {
    for (const Input& input : inputs_of(n)) {
      if (input.producer != kNone) producers.push_back(static_cast<std::uint32_t>(input.producer));
    }
    first.push_back(static_cast<std::uint32_t>(producers.size()));
  }
  const batching::Dag dag{static_cast<std::uint32_t>(node_types), types_, first, producers};
  const std::vector<std::uint32_t> chains = batching::longest_chains(dag);
  std::vector<batching::TypeFacts> facts(node_types);
  std::vector<float> weights(node_types);
  for (TypeId t = 0; t < node_types; ++t) {
    facts[t] = {chains[t], call_cost(table[t]), table[t].is_of_all_samples()};
    weights[t] = table[t].has_shared_input ? 2.0f : 1.0f;
  }
  for (std::size_t n = 0; n < types_.size(); ++n) {
    if (is_foldable_[n] == 0) facts[types_[n]].foldable = false;
  }
  std::vector<std::uint32_t> begin = first_of_sample_;
  begin.push_back(static_cast<std::uint32_t>(types_.size()));
  batching::Words words = batching::find_words(types_, begin, facts);

  refused_.clear();
  refuse_types(table);
  Found found = find_patterns(words, begin);
  std::vector<CellType> cells;
  for (const CellPattern& pattern : found.patterns) cells.push_back(make_cell_type(pattern, table));
  const std::vector<bool> chosen =
      choose_cells({dag, first_of_run_, cells, found.places, weights, common.options.policy,
                    cost_of_call(*common.options.device)});
  std::vector<CellPattern> patterns;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (!chosen[c]) refuse(found.patterns[c].members, found.times[c], CellReason::calls);
    const bool has_room = common.dictionary.size() + patterns.size() < kMostCellTypes;
    if (chosen[c] && has_room) patterns.push_back(std::move(found.patterns[c]));
  }
  keep_largest_refused();
  keep_what_was_not_there(common.dictionary, facts, patterns, words.loose);
  std::stable_sort(patterns.begin(), patterns.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return common.dictionary.use(std::move(patterns), std::move(words.loose), table);
}

// Of cell types that these nodes could not have, nothing new is known.
void CellLearner::keep_what_was_not_there(const CellDictionary& dictionary,
                                          std::span<const batching::TypeFacts> facts,
                                          std::vector<CellPattern>& patterns,
                                          std::vector<std::uint8_t>& loose) {
  const auto was_not_there = [&](TypeId type) { return facts[type].chain == 0; };
  for (const std::uint32_t cell : dictionary.in_use()) {
    const CellPattern& pattern = dictionary[cell].pattern;
    if (std::ranges::any_of(pattern.members, was_not_there)) patterns.push_back(pattern);
  }
  for (TypeId t = 0; t < facts.size(); ++t) {
    if (was_not_there(t)) loose[t] = dictionary.is_loose(t) ? 1 : 0;
  }
}

// The words as the matcher will find them, where it will take them.
CellLearner::Found CellLearner::find_patterns(const batching::Words& words,
                                              std::span<const std::uint32_t> begin) {
  Found found;
  std::vector<std::vector<std::uint32_t>> of_word(words.words.size());
  const batching::WordPlacer placer(words);
  std::vector<std::uint32_t> members;
  for (std::size_t s = 0; s + 1 < begin.size(); ++s) {
    const std::uint32_t first = begin[s];
    const auto types = std::span<const TypeId>(types_).subspan(first, begin[s + 1] - first);
    placer.place(types, [&](std::uint32_t word, std::span<const std::uint32_t> nodes,
                            std::span<const batching::Place> places) {
      members.assign(nodes.begin(), nodes.end());
      for (std::uint32_t& member : members) member += first;
      if (!has_one_order(members, places, first)) {
        refuse(words.words[word], 1, CellReason::between);
        return false;
      }
      add_place(pattern_at(members), members, of_word[word], found);
      return true;
    });
  }
  keep_frequent(of_word, found);
  return found;
}

// What the matcher asks, too: nodes in between all run before the members, or all after them.
bool CellLearner::has_one_order(std::span<const std::uint32_t> members,
                                std::span<const batching::Place> places,
                                std::uint32_t first) const {
  const auto is_member = [&](std::size_t node) {
    return std::binary_search(members.begin(), members.end(), node);
  };
  bool before = false;
  std::vector<std::size_t> behind;  // they read members, or others that do
  for (std::uint32_t node = members.front(); node < members.back(); ++node) {
    if (is_member(node)) continue;
    const bool has_place = places[node - first].word != batching::Place::alone;
    const std::span<const Input> inputs = inputs_of(node);
    if (std::any_of(inputs.begin(), inputs.end(), [&](const Input& input) {
          return is_member(input.producer) ||
                 std::binary_search(behind.begin(), behind.end(), input.producer);
        })) {
      if (has_place) return false;
      behind.push_back(node);
    } else {
      before |= !has_place;
    }
  }
  if (behind.empty()) return true;
  for (std::uint32_t member : members) {
    for (const Input& input : inputs_of(member)) {
      const bool lies_between = input.node > nodes_[members.front()] && !is_member(input.producer);
      before |= !input.is_argument && lies_between;
    }
  }
  return !before;
}

void CellLearner::add_place(CellPattern pattern, const std::vector<std::uint32_t>& members,
                            std::vector<std::uint32_t>& of_word, Found& found) {
  auto known = std::find_if(of_word.begin(), of_word.end(),
                            [&](std::uint32_t other) { return found.patterns[other] == pattern; });
  if (known == of_word.end()) {
    if (of_word.size() == kMostCompared) return;
    known = of_word.insert(known, static_cast<std::uint32_t>(found.patterns.size()));
    found.patterns.push_back(std::move(pattern));
    found.times.push_back(0);
  }
  ++found.times[*known];
  found.places.push_back({*known, members});
}

// Of every word a few patterns, those that come often.
void CellLearner::keep_frequent(std::vector<std::vector<std::uint32_t>>& of_word, Found& found) {
  Found kept;
  std::vector<std::uint32_t> number(found.patterns.size(), kDropped);
  for (std::vector<std::uint32_t>& patterns : of_word) {
    std::stable_sort(patterns.begin(), patterns.end(), [&](std::uint32_t a, std::uint32_t b) {
      return found.times[a] > found.times[b];
    });
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (i >= kMostOfAWord || found.times[patterns[i]] < kFewest) {
        refuse(found.patterns[patterns[i]].members, found.times[patterns[i]],
               CellReason::few_alike);
        continue;
      }
      number[patterns[i]] = static_cast<std::uint32_t>(kept.patterns.size());
      kept.patterns.push_back(std::move(found.patterns[patterns[i]]));
      kept.times.push_back(found.times[patterns[i]]);
    }
  }
  for (CellPlace& place : found.places) {
    place.type = number[place.type];
    if (place.type != kDropped) kept.places.push_back(std::move(place));
  }
  found = std::move(kept);
}

CellPattern CellLearner::pattern_at(std::span<const std::uint32_t> members) const {
  using From = CellInput::From;
  CellPattern pattern;
  std::vector<std::uint64_t> ports;
  for (std::uint32_t node : members) {
    pattern.members.push_back(types_[node]);
    for (const Input& input : inputs_of(node)) {
      const auto member = std::lower_bound(members.begin(), members.end(), input.producer);
      if (input.is_argument) {
        pattern.inputs.push_back({});
      } else if (member != members.end() && *member == input.producer) {
        pattern.inputs.push_back({From::member, input.blocks_gradient,
                                  static_cast<std::uint16_t>(member - members.begin()),
                                  input.offset, input.shape});
      } else {
        const auto port = std::find(ports.begin(), ports.end(), input.value);
        const auto index = static_cast<std::uint16_t>(port - ports.begin());
        if (port == ports.end()) ports.push_back(input.value);
        pattern.inputs.push_back({From::port, false, index, 0, 0});
      }
    }
    pattern.first_input.push_back(static_cast<std::uint32_t>(pattern.inputs.size()));
  }
  pattern.ports = static_cast<std::uint32_t>(ports.size());
  return pattern;
}

// Of all types of an op together: an argument of one sample makes a type of its own.
void CellLearner::refuse_types(const TypeTable& table) {
  for (std::size_t n = 0; n < types_.size(); ++n) {
    const NodeType& type = table[types_[n]];
    CellReason reason = CellReason::none;
    if (is_foldable_[n] == 0 && is_foldable(*type.op)) reason = CellReason::minibatch;
    if (!type.is_of_all_samples()) reason = CellReason::argument_of_sample;
    if (reason == CellReason::none) continue;
    const auto known =
        std::find_if(refused_.begin(), refused_.end(), [&](const RefusedCell& other) {
          return other.reason == reason && table[other.members[0]].op == type.op;
        });
    if (known != refused_.end()) {
      ++known->times;
    } else {
      refused_.push_back({{types_[n]}, 1, reason});
    }
  }
}

void CellLearner::refuse(std::span<const TypeId> members, std::uint64_t times, CellReason reason) {
  const auto known = std::find_if(refused_.begin(), refused_.end(), [&](const RefusedCell& other) {
    return other.reason == reason && std::ranges::equal(other.members, members);
  });
  if (known != refused_.end()) {
    known->times += times;
  } else {
    refused_.push_back({{members.begin(), members.end()}, times, reason});
  }
}

void CellLearner::keep_largest_refused() {
  std::stable_sort(refused_.begin(), refused_.end(), [](const auto& a, const auto& b) {
    return a.times * a.members.size() > b.times * b.members.size();
  });
  refused_.resize(std::min(refused_.size(), kMostRefused));
}

}  // namespace dynet_like::detail
