// CopyOutput: one map for scores and gate, and one softmax with copying.
#include "nn/copy_output.h"

#include <algorithm>
#include <limits>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/ops.h"
#include "nn/check_input.h"

namespace dynet_like::nn {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// How many numbers a source has above those of the vocabulary.
unsigned own_words(unsigned words, const std::vector<unsigned>& source) {
  const unsigned most = source.empty() ? 0 : std::ranges::max(source);
  if (most < words) return 0;
  if (most - words < source.size()) return most - words + 1;
  throw UsageError("[CopyOutput] need words below " + std::to_string(words + source.size()) + ": " +
                   std::to_string(words) + " of the vocabulary, and at most " +
                   std::to_string(source.size()) + " of the source; got " + std::to_string(most));
}

}  // namespace

CopyOutput::CopyOutput(ParameterCollection& model, unsigned states, unsigned words,
                       const CopyOutputOptions& options)
    : words_(words) {
  if (words == 0) throw ShapeError("[CopyOutput] need at least 1 word; got 0");
  const unsigned means = required("CopyOutput", "means", options.means);
  ParameterCollection own = add_layer(model, options.name, "copy_output");
  state_weights_ = own.add_parameters({words + 1, states}, "W");
  mean_weights_ = own.add_parameters({words + 1, means}, "V");
  bias_ = own.add_parameters({words + 1}, ParameterInitConst(0), "b");
}

Expression CopyOutput::log_probabilities(const Expression& state, const Attended& found,
                                         const std::vector<unsigned>& source, unsigned more) const {
  check_input("CopyOutput", state, state_weights_.dim()[1], state_weights_.get_storage(), false,
              "states");
  check_input("CopyOutput", found.mean, mean_weights_.dim()[1], mean_weights_.get_storage(), false,
              "means");
  const Expression all =
      affine_transform({bias_, state_weights_, state, mean_weights_, found.mean});
  Expression scores = pick_range(all, 0, words_);
  if (more > 0) {
    const Expression never = constant(scores.graph("CopyOutput"), {more}, -kInfinity);
    scores = concatenate({scores, never});
  }
  return copy_log_softmax(scores, pick_range(all, words_, words_ + 1), found.weights, source);
}

Expression CopyOutput::operator()(const Expression& state, const Attended& found,
                                  const std::vector<unsigned>& source) const {
  return log_probabilities(state, found, source, own_words(words_, source));
}

Expression CopyOutput::loss(const Expression& state, const Attended& found,
                            const std::vector<unsigned>& source, unsigned word) const {
  if (own_words(words_, source) == 0) {
    return -pick(log_probabilities(state, found, source, 0), word);
  }
  if (word >= words_ && std::ranges::find(source, word) == source.end()) {
    throw UsageError("[CopyOutput] need a word below " + std::to_string(words_) +
                     ", or one of the source; got " + std::to_string(word));
  }
  // Two further words, for all sources: the one that is asked for, and all others.
  std::vector<unsigned> numbers = source;
  for (unsigned& number : numbers) {
    if (number >= words_) number = number == word ? words_ : words_ + 1;
  }
  return -pick(log_probabilities(state, found, numbers, 2), std::min(word, words_));
}

}  // namespace dynet_like::nn
