// GradientExchange: packs, adds and unpacks gradients.
#include "dynet_like/distributed/gradient_exchange.h"

#include <algorithm>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/row_lists.h"

namespace dynet_like {

using namespace detail;

namespace {

constexpr std::size_t kBucketBytes = std::size_t{1} << 20;

}  // namespace

GradientExchange::GradientExchange(std::shared_ptr<Communicator> ranks,
                                   const ParameterCollection& model, unsigned shards)
    : ranks_(std::move(ranks)), model_(model), shards_(shards) {
  if (shards_ < ranks_->size()) {
    throw UsageError(fmt::format("[GradientExchange] need a shard for each rank; got {} for {}",
                                 shards_, counted(ranks_->size(), "rank")));
  }
  for (unsigned r = 0; r < ranks_->size(); ++r) {
    nodes_.push_back(tree_nodes(part_of_rank(shards_, r, ranks_->size())));
  }
}

// Finds the parameters anew for each sum, since some may have been frozen meanwhile.
void GradientExchange::begin() {
  dense_.clear();
  index_.clear();
  tables_.clear();
  std::size_t size = 0;
  for (const auto& storage : model_.storages()) {
    if (!storage->is_trained()) continue;
    if (storage->is_table) {
      tables_.push_back(storage);
    } else {
      index_[storage.get()] = dense_.size();
      dense_.push_back({storage, size});
      size += storage->size();
    }
  }
  const std::size_t most = kBucketBytes / size_of(model_.dtype());
  buckets_.resize(std::max<std::size_t>(1, (size + most - 1) / most));
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    Bucket& bucket = buckets_[b];
    bucket.elements = {b * most, std::min(size, (b + 1) * most)};
    bucket.packed = 0;
    bucket.is_sent = false;
    bucket.to.resize(ranks_->size());
    for (unsigned r = 0; r < ranks_->size(); ++r) {
      bucket.to[r].resize(nodes_[ranks_->rank()].size() * slice_of(bucket, r).size() *
                          size_of(model_.dtype()));
    }
  }
  step_ = Step::packing;
}

void GradientExchange::clear() {
  total_.clear();
  step_ = Step::none;
}

RankPart GradientExchange::slice_of(const Bucket& bucket, unsigned rank) const {
  const RankPart part = part_of_rank(bucket.elements.size(), rank, ranks_->size());
  return {bucket.elements.begin + part.begin, bucket.elements.begin + part.end};
}

void GradientExchange::pack(std::span<Gradients> own, const ParameterStorage& parameter) {
  if (step_ != Step::packing) begin();
  const auto found = index_.find(&parameter);
  if (found == index_.end()) return;
  pack(own, dense_[found->second]);
  send_complete_buckets(buckets_.size() - 1);
  ranks_->progress();
}

void GradientExchange::pack(std::span<Gradients> own, Dense& dense) {
  for (Bucket& bucket : buckets_) pack(own, dense, bucket);
  for (Gradients& shard : own) shard.clear(*dense.parameter);
  dense.is_packed = true;
}

// Packs the sum of each tree node of this rank's shards. A shard without a gradient counts as
// zeros.
void GradientExchange::pack(std::span<const Gradients> own, const Dense& dense, Bucket& bucket) {
  const std::size_t element = size_of(model_.dtype());
  const RankPart parameter = {dense.begin, dense.begin + dense.parameter->size()};
  if (common_part(bucket.elements, parameter).size() == 0) return;
  for (unsigned r = 0; r < ranks_->size(); ++r) {
    const RankPart slice = slice_of(bucket, r);
    const RankPart here = common_part(slice, parameter);
    if (here.size() == 0) continue;
    std::byte* to = bucket.to[r].data() + (here.begin - slice.begin) * element;
    for (const TreeNode& node : nodes_[ranks_->rank()]) {
      const auto shards =
          own.subspan(node.shard - own_shards().begin, std::size_t{1} << node.level);
      const std::vector<Piece> pieces =
          pieces_of(shards, *dense.parameter, {here.begin - dense.begin, here.end - dense.begin});
      sum_pieces(model_.dtype(), pieces, to, here.size());
      to += slice.size() * element;
    }
    bucket.packed += here.size();
  }
}

// Rows of tables go with the last bucket: a round of their own would cost another network latency.
void GradientExchange::send(std::span<Gradients> own) {
  if (step_ != Step::packing) begin();
  for (Dense& dense : dense_) {
    if (!dense.is_packed) pack(own, dense);
  }
  if (!tables_.empty()) append_rows(own, buckets_.back());
  send_complete_buckets(buckets_.size());
  step_ = Step::sent;
}

void GradientExchange::send_nothing() {
  if (step_ == Step::sent) return;
  if (step_ != Step::packing) begin();
  for (Bucket& bucket : buckets_) {
    if (bucket.is_sent) continue;
    for (Communicator::Bytes& bytes : bucket.to) bytes.clear();
    send(bucket);
  }
  step_ = Step::sent;
}

// Sends buckets in order, which is the same on all ranks.
void GradientExchange::send_complete_buckets(std::size_t end) {
  for (std::size_t b = 0; b < end && buckets_[b].packed == buckets_[b].elements.size(); ++b) {
    if (!buckets_[b].is_sent) send(buckets_[b]);
  }
}

void GradientExchange::send(Bucket& bucket) {
  bucket.parts.to.assign(bucket.to.begin(), bucket.to.end());
  ranks_->begin(bucket.parts);
  bucket.is_sent = true;
}

// All rounds end before anything else is thrown: until then bytes arrive in their memory.
void GradientExchange::receive() {
  for (Bucket& bucket : buckets_) ranks_->end(bucket.parts);
  for (const Bucket& bucket : buckets_) {
    for (unsigned r = 0; r < ranks_->size(); ++r) check_size(bucket, r);
  }
  step_ = Step::received;
}

void GradientExchange::check_size(const Bucket& bucket, unsigned from) const {
  const std::size_t got = bucket.parts.from[from].size();
  const std::size_t need =
      nodes_[from].size() * slice_of(bucket, ranks_->rank()).size() * size_of(model_.dtype());
  const bool has_rows = &bucket == &buckets_.back() && !tables_.empty();
  if (got == need || got == 0 || (has_rows && got > need)) return;
  throw UsageError(
      fmt::format("[GradientExchange] need {} of gradients from {}; got {}: "
                  "what ranks do must not depend on the rank",
                  counted(need, "byte"), ranks_->name(from), got));
}

Gradients& GradientExchange::sum() {
  if (step_ != Step::received) throw UsageError("[GradientExchange] need receive() before sum()");
  total_.clear();
  for (Bucket& bucket : buckets_) {
    write_sum(bucket);
    if (&bucket == &buckets_.back() && !tables_.empty()) append_sum_of_rows(bucket);
    bucket.sums.to.assign(ranks_->size(), bucket.sum);
    ranks_->begin(bucket.sums);
  }
  for (Bucket& bucket : buckets_) {
    ranks_->end(bucket.sums);
    take_sums(bucket);
  }
  step_ = Step::none;
  return total_;
}

// Addresses of some elements of a parameter's gradients, in host memory.
std::vector<Piece> GradientExchange::pieces_of(std::span<const Gradients> shards,
                                               const ParameterStorage& parameter,
                                               RankPart elements) {
  const std::size_t element = size_of(parameter.dtype);
  Device& device = parameter.device();
  const std::size_t bytes = elements.size() * element;
  on_host_.resize(device.is_cpu() ? 0 : shards.size() * bytes);
  std::vector<Piece> pieces;
  for (const Gradients& shard : shards) {
    const auto* values = static_cast<const std::byte*>(shard.find_dense(parameter));
    if (values != nullptr) values += elements.begin * element;
    if (values != nullptr && !device.is_cpu()) {
      std::byte* const copy = on_host_.data() + pieces.size() * bytes;
      device.read(copy, values, bytes);
      values = copy;
    }
    pieces.push_back({0, values});
  }
  return pieces;
}

// Row i goes to rank i modulo the number of ranks. Frequent words, which are in most shards, have
// small numbers, so this spreads them evenly.
void GradientExchange::append_rows(std::span<Gradients> own, Bucket& bucket) {
  const unsigned size = ranks_->size();
  const auto add = [](Gradients* left, const Gradients* right) { left->add(*right); };
  for (const TreeNode& node : nodes_[ranks_->rank()]) {
    TreeSum<Gradients*, decltype(add)> tree(add);
    for (std::size_t i = 0; i < std::size_t{1} << node.level; ++i) {
      tree.push(0, &own[node.shard - own_shards().begin + i]);
    }
    const Gradients* const sum = tree.total();
    for (const auto& table : tables_) {
      const RowList all(*table, sum->find_rows(*table));
      for (unsigned r = 0; r < size; ++r) {
        all.append_to(bucket.to[r], [&](std::uint32_t row) { return row % size == r; });
      }
    }
  }
}

// Adds up this rank's slice of what all ranks have sent.
void GradientExchange::write_sum(Bucket& bucket) {
  const std::size_t elements = slice_of(bucket, ranks_->rank()).size();
  const std::size_t bytes = elements * size_of(model_.dtype());
  std::vector<Piece> pieces;
  for (unsigned r = 0; r < ranks_->size(); ++r) {
    RowReader reader(bucket.parts.from[r]);
    for (const TreeNode& node : nodes_[r]) {
      pieces.push_back({node.level, reader.take(bytes).data()});
    }
  }
  bucket.sum.resize(bytes);
  sum_pieces(model_.dtype(), pieces, bucket.sum.data(), elements);
}

// Adds up the rows of tables, which follow the dense gradients of each rank.
void GradientExchange::append_sum_of_rows(Bucket& bucket) {
  const std::size_t bytes = slice_of(bucket, ranks_->rank()).size() * size_of(model_.dtype());
  const auto add = [](Gradients* left, const Gradients* right) { left->add(*right); };
  TreeSum<Gradients*, decltype(add)> tree(add);
  received_rows_.resize(shards_);
  for (unsigned r = 0; r < ranks_->size(); ++r) {
    RowReader reader(bucket.parts.from[r]);
    reader.take(nodes_[r].size() * bytes);
    for (const TreeNode& node : nodes_[r]) {
      Gradients& gradients = received_rows_[node.shard];
      gradients.clear();
      for (const auto& table : tables_) reader.read(*table).put_into(gradients, *table);
      tree.push(node.level, &gradients);
    }
  }
  const Gradients& sum = *tree.total();
  for (const auto& table : tables_) RowList(*table, sum.find_rows(*table)).append_to(bucket.sum);
}

void GradientExchange::take_sums(Bucket& bucket) {
  std::vector<RowReader> readers;
  for (unsigned r = 0; r < ranks_->size(); ++r) {
    readers.emplace_back(bucket.sums.from[r]);
    const RankPart slice = slice_of(bucket, r);
    take_dense(slice, readers.back().take(slice.size() * size_of(model_.dtype())));
  }
  if (&bucket == &buckets_.back() && !tables_.empty()) take_rows(std::move(readers));
}

void GradientExchange::take_dense(RankPart slice, std::span<const std::byte> values) {
  const std::size_t element = size_of(model_.dtype());
  for (const Dense& dense : dense_) {
    ParameterStorage& parameter = *dense.parameter;
    const RankPart here = common_part({dense.begin, dense.begin + parameter.size()}, slice);
    if (here.size() == 0) continue;
    bool fresh = false;
    auto* const to = static_cast<std::byte*>(total_.dense(parameter, fresh));
    parameter.device().write(to + (here.begin - dense.begin) * element,
                             values.data() + (here.begin - slice.begin) * element,
                             here.size() * element);
  }
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
