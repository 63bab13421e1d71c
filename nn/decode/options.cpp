// Parts of searches that do not depend on the kind of state.
#include "nn/decode/options.h"

#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"
#include "nn/decode/steps.h"

namespace dynet_like::nn {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLowestTemperature = 1e-20f;  // scores up to 1e18 stay finite

void need(bool holds, const char* rule, double got) {
  if (holds) return;
  throw UsageError(fmt::format("[decode] need {}; got {:g}", rule, got));
}

}  // namespace

void check(const SearchOptions& options) {
  const auto count = [](std::size_t n) { return static_cast<double>(n); };
  need(options.beam > 0, "a beam of at least 1", count(options.beam));
  need(options.n_best > 0, "n_best of at least 1", count(options.n_best));
  need(options.fast_track == 0 || options.word_beam > 0, "a word_beam for a fast_track",
       count(options.word_beam));
  need(options.length_penalty >= 0 && options.length_penalty < kInfinity,
       "a length_penalty of at least 0", options.length_penalty);
  if (length_divisor(options, 0) == 0 || std::isinf(length_divisor(options, options.max_length))) {
    throw UsageError(
        fmt::format("[decode] need a length_penalty A such that ((5 + n) / 6)^A is a number above "
                    "0 for lengths n from 0 to {}; got {:g}",
                    options.max_length, options.length_penalty));
  }
  need(options.temperature >= kLowestTemperature && options.temperature < kInfinity,
       "a temperature from 1e-20", static_cast<double>(options.temperature));
  need(normalises(options) || options.length_penalty == 0,
       "no length_penalty unless scores are log probabilities (see normalise)",
       options.length_penalty);
}

double length_divisor(const SearchOptions& options, std::size_t length) {
  return std::pow((5 + static_cast<double>(length)) / 6, options.length_penalty);
}

Expression scores_as_chosen(const Expression& scores, std::size_t hypotheses,
                            const std::optional<std::vector<unsigned>>& allowed,
                            const SearchOptions& options) {
  const Dim& dim = scores.dim();
  if (dim.batch_size() != dim.rows() || dim.batch_elems() != hypotheses ||
      options.end >= dim.rows()) {
    throw ShapeError(
        "[decode] need a column with the scores of all actions" +
        (options.end ? ", the end " + std::to_string(*options.end) : std::string()) +
        (hypotheses > 1 ? ", for each of " + detail::counted(hypotheses, "hypothesis", "hypotheses")
                        : std::string()) +
        "; got " + to_string(dim));
  }
  Expression chosen = options.temperature == 1 ? scores : scores / options.temperature;
  if (allowed) chosen = masked(chosen, *allowed);
  return normalises(options) ? log_softmax(chosen) : chosen;
}

void throw_dead_end(std::size_t actions) {
  throw UsageError(
      "[decode] need an allowed action wherever a hypothesis is not done; got none for any after " +
      detail::counted(actions, "action") +
      ": `allowed` must leave a way to the end, or `beam` room for hypotheses that have "
      "one");
}

}  // namespace dynet_like::nn
