// Runs words in parts whose scores fit into the cache.
#include "bench/by_hand/word_losses.h"

#include <algorithm>
#include <numeric>

#include "bench/by_hand/parameters.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

namespace {

// The kernel of weight gradients reads and writes the whole gradient for every so many words. With
// parts of other lengths it would do so more often.
constexpr std::size_t kAddends = 256;

// Scores of this size stay in the cache between product and loss.
constexpr std::size_t kScoreBytes = std::size_t{2} << 20;

}  // namespace

WordLosses::WordLosses(Queue& queue, Workload& model, const std::string& path)
    : weights_(weight_of(queue, model, path + "/W")),
      bias_(weight_of(queue, model, path + "/b")),
      classes_(bias_.dim().rows()),
      scores_layer_(queue, ops::affine_transform,
                    {bias_.dim(), weights_.dim(), Dim({weights_.dim().cols()})}),
      loss_layer_(queue, ops::cross_entropy, {bias_.dim()}) {}

double WordLosses::forward(const Places& xs, const std::vector<std::uint32_t>& labels,
                           Arena& arena) {
  return for_stretches(xs, labels, arena, false,
                       [&](std::size_t, const Words& words) { forward(words); });
}

double WordLosses::forward_and_backward(const Places& xs, const std::vector<std::uint32_t>& labels,
                                        Arena& arena, const Places& dxs) {
  const GradientPlaces dx(dxs, false);
  return for_stretches(xs, labels, arena, true, [&](std::size_t first, const Words& words) {
    forward(words);
    backward(words, dx.from(first), first == 0);
  });
}

template <class Visit>
double WordLosses::for_stretches(const Places& xs, const std::vector<std::uint32_t>& labels,
                                 Arena& arena, bool train, const Visit& visit) {
  const std::size_t fit = std::max(kScoreBytes / (classes_ * sizeof(float)), std::size_t{24});
  const std::size_t n = xs.size();
  const std::size_t most = std::min(n, train ? (fit + kAddends - 1) / kAddends * kAddends : fit);
  auto* scores = arena.allocate_array<float>(most * classes_);
  auto* losses = arena.allocate_array<float>(n);
  auto* saved = train ? arena.allocate_array<float>(most * loss_layer_.type().saved_size) : nullptr;
  for (std::size_t first = 0, end; first < n; first = end) {
    end = std::min(first + most, n);
    visit(first, Words{Places(xs.begin() + first, xs.begin() + end), labels.data() + first, scores,
                       losses + first, saved});
  }
  return std::accumulate(losses, losses + n, 0.0);
}

// For the words of a single sentence, packing so many weights is not worth it.
void WordLosses::forward(const Words& words) {
  const std::size_t n = words.xs.size();
  const Operand in[] = {bias_.operand(), weights_.operand(n), {words.xs.data()}};
  scores_layer_.forward(n, in, words.scores, nullptr);
  const Places scores = rows(words.scores, n, classes_);
  const Operand loss_in[] = {{scores.data()}};
  loss_layer_.forward(n, loss_in, words.losses, words.saved, words.labels);
}

void WordLosses::backward(const Words& words, const Destination& dx, bool is_first) {
  const std::size_t n = words.xs.size();
  const float one = 1;
  const Places ones(n, &one), scores = rows(words.scores, n, classes_);
  const Places saved = rows(words.saved, n, loss_layer_.type().saved_size);
  const GradientPlaces dscores(scores, false);
  const Operand loss_in[] = {{scores.data()}};
  const Destination loss_dx[] = {dscores.destination()};
  BackwardCall loss;
  loss.n = n;
  loss.in = loss_in;
  loss.saved.items = saved.data();
  loss.dy.items = ones.data();
  loss.dx = loss_dx;
  loss.integers = words.labels;
  loss_layer_.backward(loss);

  const Operand in[] = {bias_.operand(), weights_.transposed(), {words.xs.data()}};
  const Destination to[] = {{}, {}, dx};
  scores_layer_.backward(in, scores, to);
  if (is_first) {
    weights_.set_gradient(scores, words.xs);
    bias_.set_gradient(scores);
  } else {
    weights_.add_gradient(scores, words.xs);
    bias_.add_gradient(0, classes_, scores);
  }
}

}  // namespace dynet_like::bench::by_hand
