// Pooling: columns that are selected, and means of those that follow one another.
#include "nn/encoders/pooling.h"

#include <algorithm>
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

}  // namespace

Expression pool_words(const Expression& pieces, std::span<const std::int32_t> word_of_piece,
                      unsigned words, Pooling pooling) {
  check(pieces, word_of_piece, words);
  std::vector<unsigned> used, lengths(words, 0);
  for (unsigned piece = 0; piece < word_of_piece.size(); ++piece) {
    if (word_of_piece[piece] < 0) continue;
    unsigned& length = lengths[static_cast<std::size_t>(word_of_piece[piece])];
    if (pooling == Pooling::first && length > 0) continue;
    ++length;
    used.push_back(piece);
  }
  if (used.empty()) return zeros(pieces.graph("pool_words"), {pieces.dim().rows(), words});
  const Expression chosen = select_cols(pieces, used);
  const bool is_one_each = std::ranges::all_of(lengths, [](unsigned n) { return n == 1; });
  return is_one_each ? chosen : segment_mean(chosen, lengths);
}

Expression pool_sentence(const Expression& pieces, Pooling pooling) {
  if (pooling == Pooling::first) return pick(pieces, 0, 1);
  const Dim dim = pieces.dim();
  return reshape(segment_mean(pieces, {dim.cols()}), {dim.rows()});
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
