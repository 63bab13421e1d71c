// Merges symbols of a sequence that always stand together, in rounds over the whole sequence.
#include "batching/forced_merges.h"

#include <algorithm>
#include <utility>

namespace dynet_like::batching {
namespace {

constexpr std::uint32_t longest_run = 8;
/// By this factor a chain is so much longer than another that they have little to do with each
/// other.
constexpr std::uint64_t much_longer = 2;
/// Bounds the time where every round finds little.
constexpr unsigned most_rounds = 256;

constexpr std::uint32_t gap = ForcedMerges::gap;
constexpr std::uint32_t unseen = gap - 1;

/// The difference, or 0 if it is negative.
std::uint32_t less(std::uint32_t from, std::uint64_t what) {
  return what < from ? from - static_cast<std::uint32_t>(what) : 0;
}

}  // namespace

ForcedMerges::ForcedMerges(std::span<const TypeFacts> facts, std::vector<std::uint32_t> tokens)
    : tokens_(std::move(tokens)), symbols_(facts.size()), budget_(facts), seen_(facts.size(), 0) {
  for (std::uint32_t t = 0; t < facts.size(); ++t) {
    symbols_[t].chain = {budget_.need(t), budget_.need(t)};
    symbols_[t].costly = budget_.is_costly(t);
    alive_.push_back(t);
  }
}

/// What stands to the left tells what a common type is used for, so it goes first with what is
/// before it. Only then may the beginning of something take it from the end of what is before.
void ForcedMerges::merge() {
  for (; rounds_ < most_rounds; ++rounds_) {
    refused_.clear();
    count_tokens();
    if (!merge_runs() && !merge_pairs(true) && !merge_pairs(false)) return;
    rewrite();
  }
  refused_.clear();
  count_tokens();
}

void ForcedMerges::count_tokens() {
  for (const std::uint32_t s : alive_) {
    Symbol& symbol = symbols_[s];
    symbol.count = symbol.most_in_sample = symbol.run = 0;
    symbol.sample = none;
    symbol.next = symbol.previous = unseen;
    symbol.with_next = symbol.with_previous = symbol.with_run = none;
    symbol.is_left = symbol.is_right = false;
  }
  const auto meet = [](std::uint32_t& neighbour, std::uint32_t now) {
    neighbour = neighbour == unseen || neighbour == now ? now : edge;
  };
  std::uint32_t run = 0, sample = 0;
  for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
    if (tokens_[i] == edge) ++sample;
    if (tokens_[i] >= gap) continue;
    Symbol& symbol = symbols_[tokens_[i]];
    ++symbol.count;
    ++run;
    if (std::exchange(symbol.sample, sample) != sample) symbol.in_sample = 0;
    symbol.most_in_sample = std::max(symbol.most_in_sample, ++symbol.in_sample);
    meet(symbol.previous, tokens_[i - 1]);
    meet(symbol.next, tokens_[i + 1]);
    if (tokens_[i + 1] == tokens_[i]) continue;
    symbol.run = symbol.run == 0 || symbol.run == run ? run : none;
    run = 0;
  }
  std::erase_if(alive_, [&](std::uint32_t s) { return symbols_[s].count == 0; });
  shorten_chains();
}

/// No chain is longer than the tokens of one sample.
void ForcedMerges::shorten_chains() {
  for (const std::uint32_t s : alive_) {
    Symbol& symbol = symbols_[s];
    if (symbol.chain.most <= symbol.most_in_sample) continue;
    change_calls({s}, std::int64_t{symbol.most_in_sample} - symbol.chain.most);
    budget_.settle(true);
    symbol.chain.most = symbol.most_in_sample;
    symbol.chain.least = std::min(symbol.chain.least, symbol.chain.most);
  }
}

/// Merges a symbol with itself if it always stands in runs of one length whose tokens do not depend
/// on each other, such as the forget gates of two children.
bool ForcedMerges::merge_runs() {
  bool merged = false;
  for (std::size_t i = 0, end = alive_.size(); i < end; ++i) {
    const std::uint32_t s = alive_[i];
    const std::uint32_t run = symbols_[s].run;
    if (run < 2 || run > longest_run || symbols_[s].count < run * fewest_tokens ||
        symbols_[s].length * run > most_types) {
      continue;
    }
    // If they do not depend, the sample with the longest chain has a run for each of its members. A
    // sample may have as many though they do; then a chain of runs is shorter.
    if (symbols_[s].most_in_sample < std::uint64_t{run} * symbols_[s].chain.most) continue;
    const Chain chain{(symbols_[s].chain.least + run - 1) / run, symbols_[s].chain.most};
    std::uint32_t whole = s;
    for (std::uint32_t k = 1; k < run; ++k) whole = add_symbol(whole, s, chain);
    symbols_[s].with_run = whole;
    merged = true;
  }
  return merged;
}

bool ForcedMerges::merge_pairs(bool shared_is_right) {
  bool merged = false;
  for (const Group& group : find_groups(shared_is_right)) {
    // In one round a symbol is only the left or only the right part of pairs: they do not overlap.
    Group open{group.shared, group.shared_is_right, {}};
    for (const Pair& pair : group.pairs) {
      if (!symbols_[pair.left].is_right && !symbols_[pair.right].is_left) {
        open.pairs.push_back(pair);
      }
    }
    if (open.pairs.empty()) continue;
    if (try_group(open)) {
      merged = true;
      continue;
    }
    for (const Pair& pair : open.pairs) {
      if (open.pairs.size() > 1 && try_group({group.shared, group.shared_is_right, {pair}})) {
        merged = true;
      } else {
        refused_.push_back(pair);
      }
    }
  }
  return merged;
}

/// The pairs (A, B) where A is always followed by B, by B; or those where B is always preceded by
/// A, by A, but not those of the first kind.
std::vector<ForcedMerges::Group> ForcedMerges::find_groups(bool shared_is_right) const {
  std::vector<std::pair<std::uint32_t, Pair>> pairs;  // by the shared symbol
  for (const std::uint32_t s : alive_) {
    const Symbol& symbol = symbols_[s];
    const std::uint32_t beside = shared_is_right ? symbol.next : symbol.previous;
    if (symbol.count < fewest_tokens || beside >= gap || beside == s ||
        symbol.length + symbols_[beside].length > most_types) {
      continue;
    }
    if (shared_is_right) {
      pairs.push_back({beside, {s, beside}});
    } else if (symbols_[beside].next != s) {
      pairs.push_back({beside, {beside, s}});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Group> groups;
  for (const auto& [shared, pair] : pairs) {
    if (groups.empty() || groups.back().shared != shared) {
      groups.push_back({shared, shared_is_right, {}});
    }
    groups.back().pairs.push_back(pair);
  }
  return groups;
}

/// Merges all pairs of the group if no type is called too often then.
bool ForcedMerges::try_group(const Group& group) {
  std::uint32_t taken = 0;
  for (const Pair& pair : group.pairs) taken += symbols_[group.other(pair)].count;
  if (!may_take(group, taken)) return false;
  const std::vector<Chain> chains = chains_of(group, taken);
  const Chain before = symbols_[group.shared].chain;
  Chain after = before;  // of what is left of the shared symbol
  after.most = std::min(before.most, symbols_[group.shared].count - taken);
  for (const Chain& chain : chains) after.least = less(after.least, chain.most);
  change_calls({group.shared}, std::int64_t{after.most} - before.most);
  for (std::size_t i = 0; i < group.pairs.size(); ++i) {
    const Pair& pair = group.pairs[i];
    const std::uint32_t other = group.other(pair);
    change_calls({other}, -std::int64_t{symbols_[other].chain.most});
    change_calls({pair.left, pair.right}, chains[i].most);
  }
  const bool inseparable = group.pairs.size() == 1 && taken == symbols_[group.shared].count;
  const bool is_affordable = budget_.affords(inseparable);
  budget_.settle(is_affordable);
  if (!is_affordable) return false;
  symbols_[group.shared].chain = after;
  for (std::size_t i = 0; i < group.pairs.size(); ++i) {
    const auto [left, right] = group.pairs[i];
    const std::uint32_t both = add_symbol(left, right, chains[i]);
    symbols_[left].is_left = symbols_[right].is_right = true;
    if (group.shared_is_right) {
      symbols_[left].with_next = both;
    } else {
      symbols_[right].with_previous = both;
    }
  }
  return true;
}

/// If it takes only some tokens of its shared symbol, these must not get longer chains by that.
bool ForcedMerges::may_take(const Group& group, std::uint32_t taken) const {
  const Symbol& shared = symbols_[group.shared];
  if (taken == shared.count) return true;
  return std::all_of(group.pairs.begin(), group.pairs.end(), [&](const Pair& pair) {
    return symbols_[group.other(pair)].chain.least <= shared.chain.most * much_longer;
  });
}

/// A pair has all tokens of its symbol that is not shared, and so at least the chain of that. If
/// all tokens of the shared symbol are in pairs, its chain is, too: what the other pairs have no
/// room for is in this one. Of a costly symbol that is assumed even if a few tokens are left.
std::vector<ForcedMerges::Chain> ForcedMerges::chains_of(const Group& group,
                                                         std::uint32_t taken) const {
  const Symbol& shared = symbols_[group.shared];
  std::uint64_t sum = 0;
  for (const Pair& pair : group.pairs) sum += symbols_[group.other(pair)].chain.most;
  const bool takes_all = shared.costly || taken == shared.count;
  std::vector<Chain> chains;
  for (const Pair& pair : group.pairs) {
    const Chain own = symbols_[group.other(pair)].chain;
    Chain& chain = chains.emplace_back(own);
    if (takes_all) chain.least = std::max(own.least, less(shared.chain.least, sum - own.most));
    chain.most = std::max(chain.least, std::min(own.most, shared.chain.most));
  }
  return chains;
}

void ForcedMerges::change_calls(std::initializer_list<std::uint32_t> symbols, std::int64_t by) {
  ++stamp_;
  for (const std::uint32_t symbol : symbols) {
    for_each_type(symbol, [&](std::uint32_t type) {
      if (std::exchange(seen_[type], stamp_) != stamp_) budget_.change(type, by);
    });
  }
}

std::uint32_t ForcedMerges::add_symbol(std::uint32_t left, std::uint32_t right, Chain chain) {
  Symbol symbol;
  symbol.left = left;
  symbol.right = right;
  symbol.length = symbols_[left].length + symbols_[right].length;
  symbol.chain = chain;
  symbol.costly = symbols_[left].costly || symbols_[right].costly;
  symbols_.push_back(symbol);
  alive_.push_back(static_cast<std::uint32_t>(symbols_.size() - 1));
  return alive_.back();
}

void ForcedMerges::rewrite() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < tokens_.size(); ++kept) {
    std::uint32_t token = tokens_[i];
    std::uint32_t width = 1;
    if (token < gap) {
      const Symbol& symbol = symbols_[token];
      const std::uint32_t next = tokens_[i + 1];
      if (symbol.with_run != none) {
        token = symbol.with_run;
        width = symbol.run;
      } else if (symbol.with_next != none) {
        token = symbol.with_next;
        width = 2;
      } else if (next < gap && symbols_[next].with_previous != none) {
        token = symbols_[next].with_previous;
        width = 2;
      }
    }
    tokens_[kept] = token;
    i += width;
  }
  tokens_.resize(kept);
}

bool ForcedMerges::take_out_loose(std::vector<std::uint8_t>& loose) {
  std::vector<std::uint32_t> symbols_with(budget_.type_count(), 0);
  for (const std::uint32_t s : alive_) {
    ++stamp_;
    for_each_type(s, [&](std::uint32_t type) {
      if (std::exchange(seen_[type], stamp_) != stamp_) ++symbols_with[type];
    });
  }
  std::vector<std::uint8_t> goes(symbols_.size(), 0);
  bool any = false;
  for (const Pair& pair : refused_) {
    const bool left_is_short = symbols_[pair.left].chain.most < symbols_[pair.right].chain.least;
    const std::uint32_t shorter = left_is_short ? pair.left : pair.right;
    const std::uint32_t longer = left_is_short ? pair.right : pair.left;
    if (symbols_[shorter].chain.most * much_longer > symbols_[longer].chain.least) continue;
    // What stands there only at times may be what the longer one's parts need of each other.
    if (shorter != (left_is_short ? symbols_[longer].previous : symbols_[longer].next)) continue;
    bool alone = true;  // its types are nowhere else
    for_each_type(shorter, [&](std::uint32_t type) { alone = alone && symbols_with[type] == 1; });
    if (!alone) continue;
    for_each_type(shorter, [&](std::uint32_t type) { loose[type] = 1; });
    goes[shorter] = 1;
    any = true;
  }
  refused_.clear();
  std::erase_if(tokens_, [&](std::uint32_t token) { return token < gap && goes[token] != 0; });
  return any;
}

std::vector<ForcedMerges::Found> ForcedMerges::found() const {
  std::vector<Found> result;
  for (const std::uint32_t s : alive_) {
    const Symbol& symbol = symbols_[s];
    if (symbol.length < 2 || symbol.count < fewest_tokens) continue;
    Found& found = result.emplace_back();
    for_each_type(s, [&](std::uint32_t type) { found.types.push_back(type); });
    found.saved = std::uint64_t{symbol.count} * (symbol.length - 1);
  }
  return result;
}

template <class Use>
void ForcedMerges::for_each_type(std::uint32_t symbol, const Use& use) const {
  std::array<std::uint32_t, most_types> waiting;
  std::size_t size = 1;
  waiting[0] = symbol;
  while (size > 0) {
    const Symbol& top = symbols_[waiting[--size]];
    if (top.left == none) {
      use(static_cast<std::uint32_t>(&top - symbols_.data()));
    } else {
      waiting[size++] = top.right;
      waiting[size++] = top.left;
    }
  }
}

}  // namespace dynet_like::batching
