// Pooling: columns that are selected, and means of those that follow one another.
#include "nn/encoders/pooling.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

using dynet_like::detail::counted;

namespace {

void check(const Expression& pieces, std::span<const std::int32_t> words, unsigned count) {
  if (words.size() != pieces.dim().cols() || count == 0) {
    throw UsageError(
        fmt::format("[pool_words] need the word of each of {}, and at least 1 word; got {} and {}",
                    counted(pieces.dim().cols(), "piece"), words.size(), count));
  }
  std::int32_t last = -1;
  for (const std::int32_t word : words) {
    if (word < 0) continue;
    if (word < last || static_cast<std::uint32_t>(word) >= count) {
      throw UsageError(
          fmt::format("[pool_words] need numbers of words that do not decrease, below "
                      "{}; got {} after {}",
                      count, word, last));
    }
    last = word;
  }
}

// A column for each segment, none of which is empty: a sum with weights, or the largest numbers.
Expression pool_segments(const Expression& x, const std::vector<unsigned>& lengths,
                         Pooling pooling) {
  if (lengths.size() == x.dim().cols()) return x;
  if (pooling == Pooling::max) return segment_max(x, lengths);
  if (pooling == Pooling::mean) return segment_mean(x, lengths);
  std::vector<float> weights;
  for (const unsigned length : lengths) {
    const auto n = static_cast<float>(length);
    for (unsigned i = 0; i < length; ++i) {
      weights.push_back(pooling == Pooling::mean_sqrt
                            ? 1 / std::sqrt(n)
                            : static_cast<float>(i + 1) * 2 / (n * (n + 1)));
    }
  }
  ComputationGraph& graph = x.graph("pool_words");
  return segment_sum(cmult(x, input(graph, {1, x.dim().cols()}, weights)), lengths);
}

}  // namespace

Expression pool_words(const Expression& pieces, std::span<const std::int32_t> word_of_piece,
                      unsigned words, Pooling pooling) {
  check(pieces, word_of_piece, words);
  std::vector<unsigned> used, lengths, places(words, 0);  // of words with pieces, from 1
  std::int32_t last = -1;
  for (unsigned piece = 0; piece < word_of_piece.size(); ++piece) {
    const std::int32_t word = word_of_piece[piece];
    if (word < 0 || (word == last && pooling == Pooling::first)) continue;
    if (word == last && pooling == Pooling::last) {
      used.back() = piece;
      continue;
    }
    if (word != last) {
      lengths.push_back(0);
      places[static_cast<std::size_t>(word)] = static_cast<unsigned>(lengths.size());
    }
    used.push_back(piece);
    ++lengths.back();
    last = word;
  }
  const Expression none = zeros(pieces.graph("pool_words"), {pieces.dim().rows(), 1});
  if (used.empty()) return select_cols(none, places);
  const Expression pooled = pool_segments(select_cols(pieces, used), lengths, pooling);
  if (lengths.size() == words) return pooled;
  return select_cols(concatenate_cols({none, pooled}), places);
}

Expression pool_sentence(const Expression& pieces, Pooling pooling) {
  const Dim dim = pieces.dim();
  if (dim.cols() == 1) return reshape(pieces, {dim.rows()});
  if (pooling == Pooling::first) return pick(pieces, 0, 1);
  if (pooling == Pooling::last) return pick(pieces, dim.cols() - 1, 1);
  return reshape(pool_segments(pieces, {dim.cols()}, pooling), {dim.rows()});
}

ScalarMix::ScalarMix(ParameterCollection& model, unsigned layers, const LayerOptions& options) {
  ParameterCollection own = add_layer(model, options.name, "scalar_mix");
  scores_ = own.add_parameters({layers}, ParameterInitConst(0), "s");
  gamma_ = own.add_parameters({1}, ParameterInitConst(1), "gamma");
}

Expression ScalarMix::operator()(std::span<const Expression> layers) const {
  const unsigned count = scores_.dim().rows();
  if (layers.size() != count) {
    throw UsageError(
        fmt::format("[ScalarMix] need {}; got {}", counted(count, "layer"), layers.size()));
  }
  ComputationGraph& graph = layers[0].graph("ScalarMix");
  const Expression weights = cmult(softmax(parameter(graph, scores_)), gamma_);
  std::vector<Expression> terms;
  for (unsigned k = 0; k < count; ++k) terms.push_back(cmult(layers[k], pick(weights, k)));
  return sum(terms);
}

}  // namespace dynet_like::nn
