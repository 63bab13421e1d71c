// Decoders for connectionist temporal classification: greedy, and prefix beam search.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "nn/structured/ctc.h"

namespace dynet_like::nn {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Scores that have been checked.
class Steps {
 public:
  Steps(const char* user, const Tensor& scores) : classes_(scores.d.rows()) {
    const Dim& dim = scores.d;
    if (dim.nd > 2 || dim.bd != 1 || dim.rows() < 2) {
      throw ShapeError("[" + std::string(user) + "] need scores {labels + 1, steps}; got " +
                       to_string(dim));
    }
    values_ = as_doubles(scores);
    for (unsigned step = 0; step < count(); ++step) {
      const auto [low, high] = std::ranges::minmax((*this)[step]);
      if (std::ranges::none_of((*this)[step], [](double x) { return std::isnan(x); }) &&
          std::isfinite(high)) {
        continue;
      }
      throw NumericError("[" + std::string(user) +
                         "] need numbers below infinity, not all of them -infinity; got " +
                         std::to_string(low) + " to " + std::to_string(high) + " in step " +
                         std::to_string(step));
    }
  }

  unsigned count() const { return static_cast<unsigned>(values_.size() / classes_); }
  unsigned blank() const { return classes_ - 1; }
  std::span<const double> operator[](unsigned step) const {
    return std::span(values_).subspan(std::size_t{classes_} * step, classes_);
  }

 private:
  unsigned classes_;
  std::vector<double> values_;
};

double log_add(double a, double b) {
  const double top = std::max(a, b);
  return top == kNever ? kNever : top + std::log1p(std::exp(std::min(a, b) - top));
}

// Relative to the largest: a sum of large scores would be rounded to it.
std::vector<double> log_softmax(std::span<const double> scores) {
  const double top = std::ranges::max(scores);
  double sum = kNever;
  for (const double score : scores) sum = log_add(sum, score - top);
  std::vector<double> result;
  for (const double score : scores) result.push_back(score - top - sum);
  return result;
}

/// All prefixes of labels that were met, as a tree; 0 is the empty one.
class Beginnings {
 public:
  unsigned longer(unsigned beginning, unsigned label) {
    const auto [place, is_new] = ids_.try_emplace({beginning, label}, all_.size());
    if (is_new) all_.push_back({beginning, label});
    return place->second;
  }
  /// The last label. For the empty prefix, a number that is not a label.
  unsigned last(unsigned beginning) const { return all_[beginning].second; }
  std::vector<unsigned> labels(unsigned beginning) const {
    std::vector<unsigned> labels;
    for (; beginning != 0; beginning = all_[beginning].first) labels.push_back(last(beginning));
    std::ranges::reverse(labels);
    return labels;
  }

 private:
  std::vector<std::pair<unsigned, unsigned>> all_ = {{0, ~0u}};  ///< parent and last label
  std::map<std::pair<unsigned, unsigned>, unsigned> ids_;
};

/// ln of the probability of the paths with this prefix, by whether their last class is a blank.
struct Paths {
  double with_blank = kNever, with_label = kNever;

  double all() const { return log_add(with_blank, with_label); }
};

using Beam = std::vector<std::pair<unsigned, Paths>>;

Beam next_beam(const Beam& beam, std::span<const double> step, Beginnings& beginnings) {
  std::map<unsigned, Paths> next;
  const auto blank = static_cast<unsigned>(step.size() - 1);
  for (const auto& [beginning, paths] : beam) {
    const double all = paths.all();
    Paths& same = next[beginning];
    same.with_blank = log_add(same.with_blank, all + step[blank]);
    for (unsigned label = 0; label < blank; ++label) {
      const bool repeats = label == beginnings.last(beginning);
      // A repeated label continues the last one, unless there is a blank between them.
      if (repeats) same.with_label = log_add(same.with_label, paths.with_label + step[label]);
      const double before = repeats ? paths.with_blank : all;
      if (before + step[label] == kNever) continue;
      Paths& longer = next[beginnings.longer(beginning, label)];
      longer.with_label = log_add(longer.with_label, before + step[label]);
    }
  }
  return {next.begin(), next.end()};
}

}  // namespace

std::vector<unsigned> ctc_greedy(const Tensor& scores) {
  const Steps steps("ctc_greedy", scores);
  std::vector<unsigned> labels;
  unsigned last = steps.blank();
  for (unsigned step = 0; step < steps.count(); ++step) {
    const std::span<const double> all = steps[step];
    const auto best = static_cast<unsigned>(std::ranges::max_element(all) - all.begin());
    if (best != last && best != steps.blank()) labels.push_back(best);
    last = best;
  }
  return labels;
}

std::vector<CtcLabels> ctc_beam(const Tensor& scores, unsigned beam) {
  const Steps steps("ctc_beam", scores);
  if (beam == 0) throw UsageError("[ctc_beam] need a beam of at least 1; got 0");
  Beginnings beginnings;
  Beam kept = {{0, {0, kNever}}};
  for (unsigned step = 0; step < steps.count(); ++step) {
    kept = next_beam(kept, log_softmax(steps[step]), beginnings);
    std::ranges::stable_sort(kept, std::ranges::greater(),
                             [](const auto& each) { return each.second.all(); });
    if (kept.size() > beam) kept.resize(beam);
  }
  std::vector<CtcLabels> result;
  for (const auto& [beginning, paths] : kept) {
    if (paths.all() > kNever) result.push_back({beginnings.labels(beginning), paths.all()});
  }
  return result;
}

}  // namespace dynet_like::nn
