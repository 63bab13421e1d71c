// SharedMinibatch: one graph per own sample, run together, summed shard by shard.
#include "nn/train/shared_minibatch.h"

#include <functional>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

SharedMinibatch::SharedMinibatch(std::shared_ptr<Communicator> ranks,
                                 const ParameterCollection& model, unsigned shards)
    : exchange_(std::move(ranks), model, shards),
      shards_(shards),
      gradients_(exchange_.own_shards().size()) {}

void SharedMinibatch::begin(std::span<const std::uint32_t> samples,
                            std::span<const std::uint32_t> costs) {
  const Shards all = cut_into_shards(samples, costs, shards_);
  const RankPart own = exchange_.own_shards();
  first_sample_ = own.begin == 0 ? 0 : all.ends[own.begin - 1];
  own_samples_.assign(all.samples.begin() + first_sample_,
                      all.samples.begin() + all.ends[own.end - 1]);
  own_ends_.clear();
  for (std::size_t shard = own.begin; shard < own.end; ++shard) {
    own_ends_.push_back(all.ends[shard] - first_sample_);
  }
}

std::vector<double> SharedMinibatch::backward(Minibatch& batch, bool sends) {
  if (batch.size() != own_samples_.size()) {
    throw UsageError(
        fmt::format("[TrainingRun] need a graph for each sample that the loop is given, "
                    "in this order, to sum their gradients by shards; got {} for {}",
                    batch.size(), own_samples_.size()));
  }
  std::function<void(const ParameterStorage&)> pack;
  if (sends) pack = [&](const ParameterStorage& p) { exchange_.pack(gradients_, p); };
  batch.backward(own_ends_, gradients_, pack);
  if (sends) send();
  std::vector<double> losses;
  std::uint32_t begin = 0;
  for (const std::uint32_t end : own_ends_) {
    losses.push_back(batch.loss_of(begin, end));
    begin = end;
  }
  return losses;
}

void SharedMinibatch::clear() {
  exchange_.clear();
  for (Gradients& gradients : gradients_) gradients.clear();
}

}  // namespace dynet_like::nn
