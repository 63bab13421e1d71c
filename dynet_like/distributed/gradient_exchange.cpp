// Packing, adding and unpacking gradients.
#include "dynet_like/distributed/gradient_exchange.h"

#include <algorithm>

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
  total_.clear();
  const std::size_t bucket = kBucketBytes / size_of(model_.dtype());
  std::size_t begin = 0;
  for (; dense_size_ - begin > bucket; begin += bucket) {
    exchange(own, {begin, begin + bucket}, false);
  }
  exchange(own, {begin, dense_size_}, !tables_.empty());
  return total_;
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
void GradientExchange::exchange(std::span<Gradients> own, RankPart bucket, bool with_tables) {
  const unsigned size = ranks_->size();
  const auto slice_of = [&](unsigned rank) {
    const RankPart part = part_of_rank(bucket.size(), rank, size);
    return RankPart{bucket.begin + part.begin, bucket.begin + part.end};
  };
  sent_.resize(size);
  for (unsigned r = 0; r < size; ++r) write_dense(own, slice_of(r), sent_[r]);
  if (with_tables) append_rows(own);
  ranks_->all_to_all(sent_, received_);
  const RankPart mine = slice_of(ranks_->rank());
  write_sum(mine.size());
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

// The sum of each node of this rank's shards. What a shard does not read counts as zeros.
void GradientExchange::write_dense(std::span<const Gradients> own, RankPart slice, Bytes& bytes) {
  const std::size_t element = size_of(model_.dtype());
  const std::vector<TreeNode> nodes = tree_nodes(own_shards());
  bytes.resize(nodes.size() * slice.size() * element);
  std::byte* to = bytes.data();
  for (const TreeNode& node : nodes) {
    const auto shards = own.subspan(node.shard - own_shards().begin, std::size_t{1} << node.level);
    for_each_stretch(slice, [&](const ParameterStorage& parameter, std::size_t first,
                                std::size_t at, std::size_t count) {
      const std::vector<Piece> pieces = pieces_of(shards, parameter, first, count);
      sum_pieces(model_.dtype(), pieces, to + at * element, count);
    });
    to += slice.size() * element;
  }
}

// Where some elements of a parameter's gradients lie in the memory of the host.
std::vector<Piece> GradientExchange::pieces_of(std::span<const Gradients> shards,
                                               const ParameterStorage& parameter, std::size_t first,
                                               std::size_t count) {
  const std::size_t element = size_of(parameter.dtype);
  Device& device = parameter.device();
  on_host_.resize(device.is_cpu() ? 0 : shards.size() * count * element);
  std::vector<Piece> pieces;
  for (const Gradients& shard : shards) {
    const auto* values = static_cast<const std::byte*>(shard.find_dense(parameter));
    if (values != nullptr) values += first * element;
    if (values != nullptr && !device.is_cpu()) {
      std::byte* const copy = on_host_.data() + pieces.size() * count * element;
      device.read(copy, values, count * element);
      values = copy;
    }
    pieces.push_back({0, values});
  }
  return pieces;
}

// A row belongs to the rank of its number: frequent words, which are in most shards, have small
// ones. Dense gradients are not needed any more.
void GradientExchange::append_rows(std::span<Gradients> own) {
  const unsigned size = ranks_->size();
  for (Gradients& shard : own) {
    for (const Dense& one : dense_) shard.clear(*one.parameter);
  }
  const auto add = [](Gradients* left, const Gradients* right) { left->add(*right); };
  for (const TreeNode& node : tree_nodes(own_shards())) {
    TreeSum<Gradients*, decltype(add)> tree(add);
    for (std::size_t i = 0; i < std::size_t{1} << node.level; ++i) {
      tree.push(0, &own[node.shard - own_shards().begin + i]);
    }
    const Gradients* const sum = tree.total();
    for (const auto& table : tables_) {
      const RowList all(*table, sum->find_rows(*table));
      for (unsigned r = 0; r < size; ++r) {
        all.append_to(sent_[r], [&](std::uint32_t row) { return row % size == r; });
      }
    }
  }
}

// What all ranks have sent of this rank's slice.
void GradientExchange::write_sum(std::size_t elements) {
  const std::size_t bytes = elements * size_of(model_.dtype());
  std::vector<Piece> pieces;
  for (unsigned r = 0; r < ranks_->size(); ++r) {
    const std::byte* from = received_[r].data();
    for (const TreeNode& node : tree_nodes(part_of_rank(shards_, r, ranks_->size()))) {
      pieces.push_back({node.level, from});
      from += bytes;
    }
  }
  sum_.resize(bytes);
  sum_pieces(model_.dtype(), pieces, sum_.data(), elements);
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

}  // namespace dynet_like
