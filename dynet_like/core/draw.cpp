// Drawing by the inverse of the cumulative distribution.
#include "dynet_like/core/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/largest.h"

namespace dynet_like {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Draws from the scores score(0), ..., score(count - 1).
template <class Score>
std::size_t draw(std::size_t count, const Score& score, Random& random) {
  std::vector<double> weights(count);
  for (std::size_t i = 0; i < count; ++i) {
    weights[i] = score(i);
    if (weights[i] < kInfinity) continue;
    throw NumericError("[draw_from_softmax] need scores below infinity; got " +
                       std::to_string(weights[i]));
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  if (largest == -kInfinity) {
    throw NumericError("[draw_from_softmax] need a score above -infinity; got none of " +
                       std::to_string(count));
  }
  for (double& weight : weights) weight = std::exp(weight - largest);
  double left = random.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
  std::size_t drawn = 0;
  for (std::size_t i = 0; i < count && left >= 0; ++i) {
    if (weights[i] == 0) continue;  // never drawn, even if rounding leaves a remainder
    drawn = i;
    left -= weights[i];
  }
  return drawn;
}

}  // namespace

std::size_t draw_from_softmax(const Tensor& scores, Random& random) {
  if (scores.d.size() == 0) {
    throw ShapeError("[draw_from_softmax] need at least one element; got " + to_string(scores.d));
  }
  return draw(
      scores.d.size(), [&](std::size_t i) { return scores.at(i); }, random);
}

unsigned draw_from_softmax(const Tensor& scores, ListOf<unsigned> allowed, Random& random) {
  check_places(scores, allowed, "draw_from_softmax");
  const auto score = [&](std::size_t i) { return scores.at(allowed.begin()[i]); };
  return allowed.begin()[draw(allowed.size(), score, random)];
}

}  // namespace dynet_like
