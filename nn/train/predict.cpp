// predict_outputs: minibatches in inference, one after the other, or one per rank.
#include "nn/train/predict.h"

#include <cstring>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "nn/data/minibatches.h"

namespace dynet_like::nn {

namespace {

using Bytes = Communicator::Bytes;
using Samples = std::vector<std::uint32_t>;

Minibatches minibatches_of(std::size_t count, const PredictionOptions& options) {
  if (options.sizes.empty()) {
    return sorted_minibatches(std::vector<std::uint32_t>(count), options.batch_size);
  }
  if (options.sizes.size() != count) {
    throw UsageError(fmt::format("[predict] need a size per sample, or none; got {} for {}",
                                 options.sizes.size(), count));
  }
  return sorted_minibatches(options.sizes, options.batch_size);
}

/// What a rank says of its minibatch: the samples' outputs, each with its shape, then its numbers
/// from a multiple of 8 bytes on.
struct OutputHead {
  Dim dim;
  DType dtype;
  std::size_t bytes;  ///< of the numbers, filled up to a multiple of 8
};

void append_filled_up(Bytes& bytes, const void* data, std::size_t size) {
  append_bytes(bytes, data, size);
  bytes.resize((bytes.size() + 7) / 8 * 8);
}

void append_outputs(Bytes& bytes, std::span<const Tensor> outputs) {
  const std::size_t count = outputs.size();
  append_filled_up(bytes, &count, sizeof(count));
  for (const Tensor& output : outputs) {
    const std::size_t size = output.d.size() * size_of(output.dtype());
    const OutputHead head = {output.d, output.dtype(), (size + 7) / 8 * 8};
    append_filled_up(bytes, &head, sizeof(head));
    append_filled_up(bytes, output.data(), size);
  }
}

class OutputReader {
 public:
  explicit OutputReader(Bytes& bytes) : rest_(bytes) {}

  /// Those of the next sample, as views of the bytes.
  void read(std::vector<Tensor>& outputs) {
    const auto count = take<std::size_t>();
    if (count > rest_.size() / sizeof(OutputHead)) refuse(count);
    outputs.resize(count);
    for (Tensor& output : outputs) {
      const auto head = take<OutputHead>();
      const std::size_t size = head.dim.size() * size_of(head.dtype);
      if (size > head.bytes) refuse(size);
      output = Tensor(head.dim, head.dtype, skip(head.bytes));
    }
  }

 private:
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, skip(sizeof(T)), sizeof(T));
    return value;
  }
  [[noreturn]] void refuse(std::size_t size) const {
    throw RankError(fmt::format("[predict] need {} more bytes of outputs from a rank; got {}", size,
                                rest_.size()));
  }
  std::byte* skip(std::size_t size) {
    size = (size + 7) / 8 * 8;
    if (size > rest_.size()) refuse(size);
    std::byte* const begin = rest_.data();
    rest_ = rest_.subspan(size);
    return begin;
  }

  std::span<std::byte> rest_;
};

/// Calls take(sample, outputs) for each of these samples.
template <class Take>
void run_minibatch(Minibatch& batch, const Samples& samples, const RecordOutputs& record,
                   const Take& take) {
  std::vector<std::vector<Expression>> outputs(samples.size());
  std::vector<Tensor> values;
  batch.clear();
  batch.record(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
    outputs[i] = record(graph, samples[i]);
    return outputs[i].empty() ? input(graph, 0.0f) : outputs[i].front();
  });
  for (const auto& some : outputs) {
    for (const Expression& output : some) batch.add_output(output);
  }
  batch.forward();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    values.clear();
    for (const Expression& output : outputs[i]) values.push_back(output.value());
    take(samples[i], std::span<const Tensor>(values));
  }
}

/// In rounds of a minibatch per rank, so that memory is bounded.
void run_rounds(Communicator& ranks, Minibatch& batch, const Minibatches& all,
                const RecordOutputs& record, const UseOutputs& use) {
  std::vector<Bytes> by_rank;
  std::vector<Tensor> outputs;
  for (std::size_t first = 0; first < all.size(); first += ranks.size()) {
    const std::size_t mine = first + ranks.rank();
    Bytes bytes;
    if (mine < all.size()) {
      run_minibatch(batch, all[mine], record,
                    [&](std::size_t, auto values) { append_outputs(bytes, values); });
    }
    ranks.all_gather(bytes, by_rank);
    for (unsigned r = 0; r < ranks.size() && first + r < all.size(); ++r) {
      OutputReader reader(by_rank[r]);
      for (const std::uint32_t sample : all[first + r]) {
        reader.read(outputs);
        use(sample, outputs);
      }
    }
  }
}

}  // namespace

void predict_outputs(std::size_t count, const RecordOutputs& record, const UseOutputs& use,
                     const PredictionOptions& options) {
  GraphOptions graph_options = options.graph;
  graph_options.inference = true;
  Minibatch batch(graph_options);
  const Minibatches all = minibatches_of(count, options);
  if (options.ranks != nullptr && options.ranks->size() > 1) {
    return run_rounds(*options.ranks, batch, all, record, use);
  }
  for (const Samples& samples : all) run_minibatch(batch, samples, record, use);
}

}  // namespace dynet_like::nn
