// Bleu: counts the n-grams of a sentence, clipped by their counts in its references.
#include "nn/evaluate/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

using Ngram = std::span<const std::string>;

struct Less {
  bool operator()(Ngram a, Ngram b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};

using Counts = std::map<Ngram, std::size_t, Less>;

Counts count_ngrams(const Bleu::Tokens& tokens, std::size_t n) {
  Counts counts;
  for (std::size_t i = 0; i + n <= tokens.size(); ++i) ++counts[Ngram(tokens).subspan(i, n)];
  return counts;
}

std::size_t closest_length(std::size_t length, std::span<const Bleu::Tokens> references) {
  const auto distance = [&](std::size_t other) {
    return std::max(length, other) - std::min(length, other);
  };
  std::size_t best = references.front().size();
  for (const Bleu::Tokens& reference : references) {
    const std::size_t next = reference.size();
    if (distance(next) < distance(best) || (distance(next) == distance(best) && next < best)) {
      best = next;
    }
  }
  return best;
}

}  // namespace

void Bleu::add(const Tokens& translation, std::span<const Tokens> references) {
  if (references.empty()) throw UsageError("[Bleu] need one reference or more; got none");
  for (std::size_t n = 1; n <= kOrder; ++n) {
    Counts most;
    for (const Tokens& reference : references) {
      for (const auto& [ngram, count] : count_ngrams(reference, n)) {
        most[ngram] = std::max(most[ngram], count);
      }
    }
    for (const auto& [ngram, count] : count_ngrams(translation, n)) {
      const auto found = most.find(ngram);
      if (found != most.end()) matches_[n - 1] += std::min(count, found->second);
      ngrams_[n - 1] += count;
    }
  }
  length_ += translation.size();
  reference_length_ += closest_length(translation.size(), references);
}

double Bleu::precision(std::size_t n) const {
  if (n < 1 || n > kOrder) {
    throw UsageError(fmt::format("[Bleu] need n-grams from 1 to {}; got {}", kOrder, n));
  }
  const std::size_t all = ngrams_[n - 1];
  return all == 0 ? 0 : static_cast<double>(matches_[n - 1]) / static_cast<double>(all);
}

double Bleu::brevity_penalty() const {
  const auto c = static_cast<double>(length_), r = static_cast<double>(reference_length_);
  return c >= r ? 1 : std::exp(1 - r / c);
}

double Bleu::value(BleuSmoothing smoothing) const {
  if (matches_[0] == 0) return 0;
  double sum = 0, smallest = 1;
  for (std::size_t n = 1; n <= kOrder; ++n) {
    auto matches = static_cast<double>(matches_[n - 1]), all = static_cast<double>(ngrams_[n - 1]);
    if (smoothing == BleuSmoothing::add_one && n > 1) {
      matches += 1;
      all += 1;
    } else if (smoothing == BleuSmoothing::exponential && matches == 0 && all > 0) {
      matches = smallest /= 2;
    }
    if (matches == 0 || all == 0) return 0;
    sum += std::log(matches / all);
  }
  return brevity_penalty() * std::exp(sum / kOrder);
}

}  // namespace dynet_like::nn
