// Packing, adding and unpacking gradients.
#include "dynet_like/distributed/gradient_exchange.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/row_lists.h"

namespace dynet_like {

using namespace detail;

namespace {

using Bytes = Communicator::Bytes;

constexpr std::size_t kBucketBytes = std::size_t{8} << 20;

}  // namespace

GradientExchange::GradientExchange(std::shared_ptr<Communicator> ranks,
                                   const ParameterCollection& model, unsigned shards)
    : ranks_(std::move(ranks)), model_(model), shards_(shards) {
  if (shards_ >= ranks_->size()) return;
  throw UsageError(fmt::format("[GradientExchange] need a shard for each rank; got {} for {} ranks",
                               shards_, ranks_->size()));
}

void GradientExchange::find_parameters() {
  dense_.clear();
  tables_.clear();
  dense_size_ = 0;
  for (const auto& storage : model_.storages()) {
    if (!storage->updated || storage->frozen) continue;
    if (storage->is_table) {
      tables_.push_back(storage);
    } else {
      dense_.push_back({storage, dense_size_});
      dense_size_ += storage->size();
    }
  }
}

Gradients& GradientExchange::sum(std::span<Gradients> own) {
  find_parameters();
  // What a shard does not read counts as zeros, whoever adds it.
  for (Gradients& shard : own) {
    for (const Dense& one : dense_) shard.dense(*one.parameter);
  }
  total_.clear();
  const Nodes nodes = own_nodes(own);
  if (ranks_->size() == 1) {
    std::swap(total_, *nodes.front());
    for (const auto& storage : model_.storages()) {
      const bool is_sent = storage->updated && !storage->frozen;
      if (!is_sent) total_.clear(*storage);
    }
    sort_rows();
  } else {
    const std::size_t bucket = kBucketBytes / size_of(model_.dtype());
    std::size_t begin = 0;
    for (; dense_size_ - begin > bucket; begin += bucket) {
      exchange(nodes, {begin, begin + bucket}, false);
    }
    exchange(nodes, {begin, dense_size_}, !tables_.empty());
  }
  return total_;
}

GradientExchange::Nodes GradientExchange::own_nodes(std::span<Gradients> own) {
  const auto add = [](Gradients* left, const Gradients* right) { left->add(*right); };
  TreeSum<Gradients*, decltype(add)> tree(add);
  const std::size_t first = own_shards().begin;
  Nodes nodes;
  for (const TreeNode& node : tree_nodes(own_shards())) {
    TreeSum<Gradients*, decltype(add)> of_node(add);
    for (std::size_t i = 0; i < std::size_t{1} << node.level; ++i) {
      of_node.push(0, &own[node.shard - first + i]);
    }
    nodes.push_back(of_node.total());
    if (ranks_->size() == 1) tree.push(node.level, nodes.back());
  }
  if (ranks_->size() == 1) return {tree.total()};
  return nodes;
}

// use(parameter, first element of it, first in the range, count)
template <class Use>
void GradientExchange::for_each_stretch(RankPart elements, const Use& use) const {
  for (const Dense& one : dense_) {
    const std::size_t begin = std::max(one.begin, elements.begin);
    const std::size_t end = std::min(one.begin + one.parameter->size(), elements.end);
    if (begin < end) {
      use(*one.parameter, begin - one.begin, begin - elements.begin, end - begin);
    }
  }
}

// Rows go with the last bucket: each exchange costs a way through the network and back.
void GradientExchange::exchange(const Nodes& nodes, RankPart bucket, bool with_tables) {
  const unsigned size = ranks_->size();
  const auto slice_of = [&](unsigned rank) {
    const RankPart part = part_of_rank(bucket.size(), rank, size);
    return RankPart{bucket.begin + part.begin, bucket.begin + part.end};
  };
  sent_.resize(size);
  for (unsigned r = 0; r < size; ++r) append_dense(nodes, slice_of(r), sent_[r]);
  if (with_tables) append_rows(nodes);
  ranks_->all_to_all(sent_, received_);
  const RankPart mine = slice_of(ranks_->rank());
  append_sum(mine);
  if (with_tables) {
    const Gradients& sum = sum_of_rows(mine.size());
    for (const auto& table : tables_) RowList(*table, sum.find_rows(*table)).append_to(sum_);
  }
  ranks_->all_gather(sum_, sums_);
  std::vector<RowReader> readers;
  for (unsigned r = 0; r < size; ++r) {
    readers.emplace_back(sums_[r]);
    const RankPart slice = slice_of(r);
    take_dense(slice, readers.back().take(slice.size() * size_of(model_.dtype())));
  }
  if (with_tables) take_rows(std::move(readers));
}

void GradientExchange::append_dense(const Nodes& nodes, RankPart slice, Bytes& bytes) const {
  const std::size_t element = size_of(model_.dtype());
  bytes.resize(nodes.size() * slice.size() * element);
  std::byte* to = bytes.data();
  for (Gradients* const node : nodes) {
    for_each_stretch(
        slice, [&](ParameterStorage& p, std::size_t first, std::size_t at, std::size_t count) {
          const auto* const from = static_cast<const std::byte*>(node->find_dense(p));
          p.device().read(to + at * element, from + first * element, count * element);
        });
    to += slice.size() * element;
  }
}

// A row belongs to the rank of its number: frequent words, which are in most shards, have small
// ones.
void GradientExchange::append_rows(const Nodes& nodes) {
  const unsigned size = ranks_->size();
  for (const Gradients* const node : nodes) {
    for (const auto& table : tables_) {
      const RowList all(*table, node->find_rows(*table));
      for (unsigned r = 0; r < size; ++r) {
        all.append_to(sent_[r], [&](std::uint32_t row) { return row % size == r; });
      }
    }
  }
}

// What all ranks have sent of this rank's slice.
void GradientExchange::append_sum(RankPart slice) {
  const std::size_t bytes = slice.size() * size_of(model_.dtype());
  const auto add = [&](std::byte* left, const std::byte* right) {
    const Pair pair = {left, right, slice.size()};
    cpu_updates().add(model_.dtype(), std::span(&pair, 1));
  };
  TreeSum<std::byte*, decltype(add)> tree(add);
  for (unsigned r = 0; r < ranks_->size(); ++r) {
    std::byte* from = received_[r].data();
    for (const TreeNode& node : tree_nodes(part_of_rank(shards_, r, ranks_->size()))) {
      tree.push(node.level, from);
      from += bytes;
    }
  }
  sum_.clear();
  append_bytes(sum_, tree.total(), bytes);
}

void GradientExchange::take_dense(RankPart slice, std::span<const std::byte> values) {
  const std::size_t element = size_of(model_.dtype());
  for_each_stretch(
      slice, [&](ParameterStorage& p, std::size_t first, std::size_t at, std::size_t count) {
        bool fresh = false;
        auto* const to = static_cast<std::byte*>(total_.dense(p, fresh));
        p.device().write(to + first * element, values.data() + at * element, count * element);
      });
}

// They stand behind the dense gradients of each node.
const Gradients& GradientExchange::sum_of_rows(std::size_t dense_elements) {
  const auto add = [](Gradients* left, const Gradients* right) { left->add(*right); };
  TreeSum<Gradients*, decltype(add)> tree(add);
  received_rows_.resize(shards_);
  for (unsigned r = 0; r < ranks_->size(); ++r) {
    const auto nodes = tree_nodes(part_of_rank(shards_, r, ranks_->size()));
    RowReader reader(received_[r]);
    reader.take(nodes.size() * dense_elements * size_of(model_.dtype()));
    for (const TreeNode& node : nodes) {
      Gradients& gradients = received_rows_[node.shard];
      gradients.clear();
      for (const auto& table : tables_) reader.read(*table).put_into(gradients, *table);
      tree.push(node.level, &gradients);
    }
  }
  return *tree.total();
}

void GradientExchange::take_rows(std::vector<RowReader> readers) {
  for (const auto& table : tables_) {
    RowList all;
    for (RowReader& reader : readers) all.add(reader.read(*table));
    all.sort();
    all.put_into(total_, *table);
  }
}

void GradientExchange::sort_rows() {
  for (const auto& table : tables_) {
    RowList all(*table, total_.find_rows(*table));
    all.sort();
    total_.clear(*table);
    all.put_into(total_, *table);
  }
}

}  // namespace dynet_like
