// LinearChainCRF: the forward algorithm and Viterbi's as recursions.
#include "nn/structured/linear_chain_crf.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

namespace {
constexpr GradientMode kNoGradient = GradientMode::zero_gradient;
}  // namespace

LinearChainCRF::LinearChainCRF(ParameterCollection& model, unsigned tags, const std::string& name)
    : chain_(model, tags, name),
      prefixes_(recursion<Expression>(
          [chain = chain_](const Expression& emission, const std::vector<Expression>& before) {
            ComputationGraph& graph = *emission.pg;
            if (before.empty()) return emission + parameter(graph, chain.start);
            return emission + logsumexp_dim(before[0] + parameter(graph, chain.transitions), 0);
          },
          "LinearChainCRF")),
      best_prefixes_(recursion<std::array<Expression, 2>>(
          [chain = chain_](const Expression& emission,
                           const std::vector<std::array<Expression, 2>>& before) {
            ComputationGraph& graph = *emission.pg;
            const bool is_first = before.empty();
            const Expression scores =
                (is_first ? emission : before[0][0]) + parameter(graph, chain.transitions);
            return std::array{
                emission + (is_first ? parameter(graph, chain.start) : max_dim(scores, 0)),
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
  throw ShapeError("[LinearChainCRF] need a column of " + std::to_string(tags()) +
                   " scores, one per tag, for every word; got " + to_string(dim));
}

void LinearChainCRF::check(unsigned words, std::span<const unsigned> tags) const {
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
}

Expression LinearChainCRF::loss(const Expression& emissions, std::span<const unsigned> gold) const {
  return log_partition(emissions) - score(emissions, gold);
}

Expression LinearChainCRF::log_partition(const Expression& emissions) const {
  const Expression last = prefixes_(Structure::sequence(check(emissions)), emissions).last();
  return logsumexp_dim(last + parameter(*emissions.pg, chain_.end), 0);
}

Expression LinearChainCRF::score(const Expression& emissions,
                                 std::span<const unsigned> tags) const {
  const unsigned words = check(emissions);
  check(words, tags);
  const Expression by_word = reshape(emissions, Dim({this->tags()}, words));
  const Expression of_words = pick(by_word, std::vector<unsigned>(tags.begin(), tags.end()));
  return chain_.score(*emissions.pg, tags) +
         reshape(segment_sum(reshape(of_words, {1, words}), {words}, 1), {1});
}

Expression LinearChainCRF::best(const Expression& emissions) const {
  const unsigned words = check(emissions);
  ComputationGraph& graph = *emissions.pg;
  const auto largest = best_prefixes_(Structure::sequence(words), emissions);
  const Expression last = argmax(largest.last()[0] + parameter(graph, chain_.end), kNoGradient);
  if (words == 1) return reshape(last, Dim({tags(), 1}));
  const Expression pointers = pick_range(largest.all()[1], 1, words, 2);
  const auto others = backwards_(Structure::reversed_sequence(words - 1), pointers, last);
  return concatenate_cols({others.all(), last});
}

}  // namespace dynet_like::nn
