// Words in stretches whose scores fit the cache.
#include "bench/by_hand/word_losses.h"

#include <algorithm>
#include <numeric>

#include "bench/by_hand/parameters.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

WordLosses::WordLosses(Queue& queue, Workload& model, const std::string& path)
    : weights_(weight_of(queue, model, path + "/W")),
      bias_(weight_of(queue, model, path + "/b")),
      classes_(bias_.dim().rows()),
      scores_layer_(queue, ops::affine_transform,
                    {bias_.dim(), weights_.dim(), Dim({weights_.dim().cols()})}),
      loss_layer_(queue, ops::pickneglogsoftmax, {bias_.dim()}) {}

// For every stretch all weights are read once, so that it should not be short either.
std::size_t WordLosses::at_a_time() const {
  constexpr std::size_t kScoreBytes = std::size_t{4} << 20;
  return std::max(kScoreBytes / (classes_ * sizeof(float)), std::size_t{24});
}

double WordLosses::forward(const Places& xs, const std::vector<std::uint32_t>& labels,
                           Arena& arena) {
  const std::size_t n = xs.size(), most = std::min(n, at_a_time());
  auto* scores = arena.allocate_array<float>(most * classes_);
  auto* losses = arena.allocate_array<float>(n);
  for (std::size_t first = 0; first < n; first += most) {
    forward({std::min(most, n - first), xs.data() + first, labels.data() + first, scores,
             losses + first, nullptr});
  }
  return std::accumulate(losses, losses + n, 0.0);
}

double WordLosses::forward_and_backward(const Places& xs, const std::vector<std::uint32_t>& labels,
                                        Arena& arena, const Places& dxs) {
  const std::size_t n = xs.size(), most = at_a_time();
  auto* scores = arena.allocate_array<float>(n * classes_);
  auto* losses = arena.allocate_array<float>(n);
  auto* saved = arena.allocate_array<float>(n * loss_layer_.type().saved_size);
  const GradientPlaces dx(dxs, false);
  for (std::size_t first = 0; first < n; first += most) {
    const Words words{std::min(most, n - first),
                      xs.data() + first,
                      labels.data() + first,
                      scores + first * classes_,
                      losses + first,
                      saved + first * loss_layer_.type().saved_size};
    forward(words);
    backward(words, dx.from(first));
  }
  const Places dscores = rows(scores, n, classes_);
  weights_.set_gradient(dscores, xs);
  bias_.set_gradient(dscores);
  return std::accumulate(losses, losses + n, 0.0);
}

void WordLosses::forward(const Words& words) {
  const Operand in[] = {bias_.operand(), weights_.operand(), {words.xs}};
  scores_layer_.forward(words.count, in, words.scores, nullptr);
  const Places scores = rows(words.scores, words.count, classes_);
  const Operand loss_in[] = {{scores.data()}};
  loss_layer_.forward(words.count, loss_in, words.losses, words.saved, words.labels);
}

void WordLosses::backward(const Words& words, const Destination& dx) {
  const float one = 1;
  const Places ones(words.count, &one), scores = rows(words.scores, words.count, classes_);
  const Places saved = rows(words.saved, words.count, loss_layer_.type().saved_size);
  const GradientPlaces dscores(scores, false);
  const Operand loss_in[] = {{scores.data()}};
  const Destination loss_dx[] = {dscores.destination()};
  BackwardCall loss;
  loss.n = words.count;
  loss.in = loss_in;
  loss.saved.items = saved.data();
  loss.dy.items = ones.data();
  loss.dx = loss_dx;
  loss.integers = words.labels;
  loss_layer_.backward(loss);

  const Operand in[] = {bias_.operand(), weights_.transposed(), {words.xs}};
  const Destination to[] = {{}, {}, dx};
  BackwardCall call;
  call.n = words.count;
  call.in = in;
  call.dy.items = scores.data();
  call.dx = to;
  scores_layer_.backward(call);
}

}  // namespace dynet_like::bench::by_hand
