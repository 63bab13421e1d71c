// A table of vertices by a hash of what they read.
#include "dynet_like/exec/repeated_vertices.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dynet_like/core/dtype.h"

namespace dynet_like::detail {

namespace {

using Row = VertexRows::Row;

constexpr std::uint32_t kPause = 15;
constexpr std::size_t kMostOps = 64;  // a program may make ever new recursions
// The search takes about as long as some percent of the vertices.
constexpr std::size_t kWorthwhile = 16;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  return (hash ^ word) * 0x9E3779B97F4A7C15ull;
}

/// Elements have 4 or 8 bytes.
std::uint64_t mix_bytes(std::uint64_t hash, const std::byte* bytes, std::size_t size) {
  std::uint64_t sums[4] = {hash, hash + 1, hash + 2, hash + 3}, words[4];  // to hide their latency
  for (; size >= sizeof words; bytes += sizeof words, size -= sizeof words) {
    std::memcpy(words, bytes, sizeof words);
    for (int i = 0; i < 4; ++i) sums[i] = std::rotl(mix(sums[i], words[i]), 29);
  }
  std::uint32_t word = 0;
  for (; size > 0; bytes += sizeof word, size -= sizeof word) {
    std::memcpy(&word, bytes, sizeof word);
    sums[0] = std::rotl(mix(sums[0], word), 29);
  }
  return mix(mix(mix(sums[0], sums[1]), sums[2]), sums[3]);
}

class Search {
 public:
  Search(const RecursionOp& op, const VertexRows::Structures& structures,
         std::span<const ColumnSource> columns, SameColumns same)
      : op_(op), structures_(structures), columns_(columns), same_(same) {
    std::size_t vertices = 0;
    for (const auto& structure : structures) {
      first_vertex_.push_back(vertices);
      vertices += structure->size();
    }
    first_.resize(vertices);
    table_.resize(std::bit_ceil(2 * vertices + 1), Entry{});
  }

  std::vector<Row> run() {
    for (std::uint32_t s = 0; s < structures_.size(); ++s) {
      const Vertices& structure = *structures_[s];
      std::vector<bool> draws;
      for (const VertexKind& kind : structure.kinds) {
        draws.push_back(op_.find(kind)->draws > 0);
      }
      for (std::uint32_t turn = 0; turn < structure.size(); ++turn) {
        const Row row{s, structure.vertex_at(turn)};
        first(row) = draws[structure.kind[row.vertex]] ? row : enter(row);
      }
    }
    return std::move(first_);
  }

 private:
  struct Entry {
    std::uint32_t hash = 0, sample = kEmpty, vertex = 0;
  };
  static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};

  const Vertices& structure(const Row& row) const { return *structures_[row.sample]; }
  const VertexKind& kind(const Row& row) const {
    return structure(row).kinds[structure(row).kind[row.vertex]];
  }
  Row& first(const Row& row) { return first_[first_vertex_[row.sample] + row.vertex]; }
  const ColumnSource& source(const Row& row, std::size_t input) const {
    return columns_[row.sample * op_.column_sizes.size() + input];
  }
  const std::byte* column(const Row& row, std::size_t input) const {
    return source(row, input).place + op_.begin_of_column(structure(row), row.vertex, input);
  }
  // A table and its row, or a place, and whether gradients go there.
  std::pair<std::uint64_t, std::uint64_t> origin(const Row& row, std::size_t input) const {
    const ColumnSource& from = source(row, input);
    const std::uint64_t blocks = from.blocks_gradient ? 1 : 0;
    if (from.rows.empty()) return {blocks, reinterpret_cast<std::uintptr_t>(column(row, input))};
    const std::size_t begin = op_.begin_of_column(structure(row), row.vertex, input);
    return {std::uint64_t{from.table} << 1 | blocks, from.rows[begin / bytes_of(input)]};
  }
  std::size_t bytes_of(std::size_t input) const {
    return op_.column_sizes[input] * size_of(op_.dtype);
  }

  // Returns the first vertex with the value of this one.
  Row enter(const Row& row) {
    const std::uint64_t hash = hash_of(row);
    const auto high = static_cast<std::uint32_t>(hash >> 32);
    const std::size_t mask = table_.size() - 1;
    for (std::size_t at = high & mask;; at = (at + 1) & mask) {
      Entry& entry = table_[at];
      if (entry.sample == kEmpty) {
        entry = {high, row.sample, row.vertex};
        return row;
      }
      const Row other{entry.sample, entry.vertex};
      if (entry.hash == high && computes_the_same(row, other)) return other;
    }
  }

  std::uint64_t hash_of(const Row& row) {
    const VertexKind& its_kind = kind(row);
    std::uint64_t hash = mix(its_kind.number, structure(row).level[row.vertex]);
    for (const std::uint32_t before : structure(row).predecessors_of(row.vertex)) {
      const Row& value = first({row.sample, before});
      hash = mix(hash, std::uint64_t{value.sample} << 32 | value.vertex);
      hash ^= hash >> 32;
    }
    for (std::size_t i = 0; i < op_.column_sizes.size(); ++i) {
      if (!op_.reads(its_kind, i)) continue;
      if (same_ == SameColumns::bits) {
        hash = mix_bytes(hash, column(row, i), bytes_of(i));
      } else {
        const auto [table, at] = origin(row, i);
        hash = std::rotl(mix(mix(hash, table), at), 29);
      }
    }
    return hash;
  }

  bool computes_the_same(const Row& a, const Row& b) {
    if (kind(a) != kind(b) || structure(a).level[a.vertex] != structure(b).level[b.vertex]) {
      return false;
    }
    const auto before_a = structure(a).predecessors_of(a.vertex);
    const auto before_b = structure(b).predecessors_of(b.vertex);
    for (std::size_t p = 0; p < before_a.size(); ++p) {
      if (first({a.sample, before_a[p]}) != first({b.sample, before_b[p]})) return false;
    }
    for (std::size_t i = 0; i < op_.column_sizes.size(); ++i) {
      if (!op_.reads(kind(a), i)) continue;
      const bool same = same_ == SameColumns::bits
                            ? std::memcmp(column(a, i), column(b, i), bytes_of(i)) == 0
                            : origin(a, i) == origin(b, i);
      if (!same) return false;
    }
    return true;
  }

  const RecursionOp& op_;
  const VertexRows::Structures& structures_;
  std::span<const ColumnSource> columns_;
  SameColumns same_;
  std::vector<std::size_t> first_vertex_;  // by sample
  std::vector<Row> first_;                 // by vertex of all samples
  std::vector<Entry> table_;
};

}  // namespace

std::vector<Row> find_repeated(const RecursionOp& op, const VertexRows::Structures& structures,
                               std::span<const ColumnSource> columns, SameColumns same) {
  return Search(op, structures, columns, same).run();
}

RepeatSearches::OfOp& RepeatSearches::of(const RecursionOp& op) {
  const auto found = std::ranges::find(ops_, &op, &OfOp::op);
  if (found != ops_.end()) return *found;
  if (ops_.size() == kMostOps) ops_.clear();
  return ops_.emplace_back(OfOp{&op, 0});
}

bool RepeatSearches::begin(const RecursionOp& op) {
  std::uint32_t& pause = of(op).pause;
  if (pause == 0) return true;
  --pause;
  return false;
}

void RepeatSearches::end(const RecursionOp& op, std::size_t found, std::size_t all) {
  if (found * kWorthwhile < all) of(op).pause = kPause;
}

}  // namespace dynet_like::detail
