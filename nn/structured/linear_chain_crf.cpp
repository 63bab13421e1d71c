// LinearChainCRF: the sum over sequences is one operation, Viterbi's algorithm a recursion.
#include "nn/structured/linear_chain_crf.h"

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/chains.h"

namespace dynet_like::nn {

namespace {
constexpr GradientMode kNoGradient = GradientMode::zero_gradient;
}  // namespace

LinearChainCRF::LinearChainCRF(ParameterCollection& model, unsigned tags,
                               const LayerOptions& options)
    : chain_(add_layer(model, options.name, "crf"), tags),
      best_prefixes_(recursion<std::array<Expression, 2>>(
          [chain = chain_](const Expression& emission,
                           const std::vector<std::array<Expression, 2>>& before) {
            const bool is_first = before.empty();
            const Expression scores = (is_first ? emission : before[0][0]) + chain.transitions;
            return std::array{emission + (is_first ? Expression(chain.start) : max_dim(scores, 0)),
                              argmax(scores, kNoGradient)};
          },
          "best of LinearChainCRF")),
      backwards_(recursion<Expression>(
          [](const Expression& pointers, const std::vector<Expression>& behind) {
            return pointers * behind[0];
          },
          "tags of LinearChainCRF")) {}

unsigned LinearChainCRF::check(const Expression& emissions) const {
  const Dim dim = emissions.dim();
  if (dim.nd <= 2 && dim.bd == 1 && dim.rows() == tags()) return dim.cols();
  throw ShapeError("[LinearChainCRF] need a column of " + detail::counted(tags(), "score") +
                   ", one per tag, for every word; got " + to_string(dim));
}

Expression LinearChainCRF::loss(const Expression& emissions, std::span<const unsigned> gold) const {
  return log_partition(emissions) - score(emissions, gold);
}

Expression LinearChainCRF::log_partition(const Expression& emissions,
                                         const std::vector<int>& tags) const {
  check(emissions);
  return chain_log_partition(emissions, chain_.transitions, chain_.start, chain_.end, tags);
}

// The log partition of a chain whose labels are all given.
Expression LinearChainCRF::score(const Expression& emissions,
                                 std::span<const unsigned> tags) const {
  const unsigned words = check(emissions);
  if (tags.size() != words) {
    throw UsageError("[LinearChainCRF] need one tag per emission; got " +
                     std::to_string(tags.size()) + " for " + std::to_string(words));
  }
  for (const unsigned tag : tags) {
    if (tag >= this->tags()) {
      throw UsageError("[LinearChainCRF] need tags below " + std::to_string(this->tags()) +
                       "; got " + detail::index_text(tag));
    }
  }
  return log_partition(emissions, {tags.begin(), tags.end()});
}

Expression LinearChainCRF::best(const Expression& emissions) const {
  const unsigned words = check(emissions);
  const auto largest = best_prefixes_(Structure::sequence(words), emissions);
  const Expression last = argmax(largest.last()[0] + chain_.end, kNoGradient);
  if (words == 1) return reshape(last, Dim({tags(), 1}));
  const Expression pointers = pick_range(largest.all()[1], 1, words, 2);
  const auto others = backwards_(Structure::reversed_sequence(words - 1), pointers, last);
  return concatenate_cols({others.all(), last});
}

}  // namespace dynet_like::nn
