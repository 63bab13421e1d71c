// LinearChainCRF: the forward algorithm and Viterbi's, a few nodes per position.
#include "nn/structured/linear_chain_crf.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

LinearChainCRF::LinearChainCRF(ParameterCollection& model, unsigned tags, const std::string& name)
    : chain_(model, tags, name) {}

void LinearChainCRF::check(std::span<const Expression> emissions) const {
  if (emissions.empty()) throw UsageError("[LinearChainCRF] need at least 1 emission; got 0");
  for (const Expression& emission : emissions) {
    if (const Dim dim = emission.dim(); dim.d[0] != tags() || dim.batch_size() != tags()) {
      throw ShapeError("[LinearChainCRF] need one score per tag, {" + std::to_string(tags()) +
                       "}; got " + to_string(dim));
    }
  }
}

void LinearChainCRF::check(std::span<const Expression> emissions,
                           std::span<const unsigned> tags) const {
  check(emissions);
  if (tags.size() != emissions.size()) {
    throw UsageError("[LinearChainCRF] need one tag per emission; got " +
                     std::to_string(tags.size()) + " for " + std::to_string(emissions.size()));
  }
  for (const unsigned tag : tags) {
    if (tag >= this->tags()) {
      throw UsageError("[LinearChainCRF] need tags below " + std::to_string(this->tags()) +
                       "; got " + detail::index_text(tag));
    }
  }
}

Expression LinearChainCRF::loss(std::span<const Expression> emissions,
                                std::span<const unsigned> gold) const {
  return log_partition(emissions) - score(emissions, gold);
}

Expression LinearChainCRF::log_partition(std::span<const Expression> emissions) const {
  check(emissions);
  ComputationGraph& graph = *emissions[0].pg;
  const Expression transitions = parameter(graph, chain_.transitions);
  // For every tag, ln of the sum over all sequences that end with it here.
  Expression prefixes = emissions[0] + parameter(graph, chain_.start);
  for (const Expression& emission : emissions.subspan(1)) {
    prefixes = emission + logsumexp_dim(prefixes + transitions, 0);
  }
  return logsumexp_dim(prefixes + parameter(graph, chain_.end), 0);
}

Expression LinearChainCRF::score(std::span<const Expression> emissions,
                                 std::span<const unsigned> tags) const {
  check(emissions, tags);
  std::vector<Expression> terms = {chain_.score(*emissions[0].pg, tags)};
  for (std::size_t t = 0; t < tags.size(); ++t) terms.push_back(pick(emissions[t], tags[t]));
  return sum(terms);
}

std::vector<Expression> LinearChainCRF::best(std::span<const Expression> emissions) const {
  check(emissions);
  constexpr GradientMode kNone = GradientMode::zero_gradient;
  ComputationGraph& graph = *emissions[0].pg;
  const Expression transitions = parameter(graph, chain_.transitions);
  // For every tag, the largest score of the sequences that end with it here; and for every
  // transition, 1 if it is the last one of such a sequence.
  Expression largest = emissions[0] + parameter(graph, chain_.start);
  std::vector<Expression> pointers;
  for (const Expression& emission : emissions.subspan(1)) {
    const Expression scores = largest + transitions;
    pointers.push_back(argmax(scores, kNone));
    largest = emission + max_dim(scores, 0);
  }
  // Backwards: a matrix of pointers times a tag is the tag before it.
  std::vector<Expression> tags(emissions.size());
  tags.back() = argmax(largest + parameter(graph, chain_.end), kNone);
  for (std::size_t t = pointers.size(); t-- > 0;) tags[t] = pointers[t] * tags[t + 1];
  return tags;
}

}  // namespace dynet_like::nn
