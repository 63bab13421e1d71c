// Common parts of the models by hand, and their list.
#include "bench/by_hand/model.h"

#include <numeric>

#include "bench/models/models.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

namespace {

std::vector<float> values_of(Workload& model, const std::string& name) {
  return as_vector(model.parameters().find(name)->tensor());
}

}  // namespace

Model::Model(Workload& model)
    : embedding_(model.parameters().find("/embedding/E")->dim.rows()),
      table_(values_of(model, "/embedding/E")) {}

Weight Model::weight_of(Workload& model, const std::string& name) {
  return Weight(*queue_, name, model.parameters().find(name)->dim, values_of(model, name));
}

// A matrix is stored column by column.
Weight Model::columns_of(Workload& model, const std::string& name, unsigned first, unsigned end) {
  const std::vector<float> all = values_of(model, name);
  const unsigned height = model.parameters().find(name)->dim.rows();
  const auto column = [&](std::size_t c) { return all.begin() + static_cast<long>(c * height); };
  return Weight(*queue_, name, Dim({height, end - first}), {column(first), column(end)});
}

Places Model::word_rows() const {
  return places(0, words_.size(),
                [&](std::size_t v) { return table_.data() + words_[v] * embedding_; });
}

// Adds the changes of the words one after the other, which is the same as changing by the sum of
// their gradients.
void Model::descend(const float* dwords, float rate) {
  for (std::size_t v = 0; v < words_.size(); ++v) {
    by_hand::descend(table_.data() + words_[v] * embedding_, dwords + v * embedding_, embedding_,
                     rate);
  }
  for (Weight* weight : weights()) weight->update(rate);
}

WordLosses::WordLosses(Queue& queue, Weight weights, Weight bias)
    : weights_(std::move(weights)),
      bias_(std::move(bias)),
      classes_(bias_.dim().rows()),
      scores_layer_(queue, ops::affine_transform,
                    {bias_.dim(), weights_.dim(), Dim({weights_.dim().cols()})}),
      loss_layer_(queue, ops::cross_entropy, {bias_.dim()}) {}

double WordLosses::run(const Places& xs, const std::vector<std::uint32_t>& labels, Arena& arena,
                       const Places* dxs) {
  const std::size_t n = xs.size(), kept = loss_layer_.type().saved_size;
  auto* const score_values = arena.allocate_array<float>(n * classes_);
  auto* const losses = arena.allocate_array<float>(n);
  auto* const saved_values = dxs == nullptr ? nullptr : arena.allocate_array<float>(n * kept);
  const Operand in[] = {bias_.operand(), weights_.operand(n), {xs.data()}};
  scores_layer_.forward(n, in, score_values, nullptr);
  const Places scores = rows(score_values, n, classes_);
  const Operand loss_in[] = {{scores.data()}};
  loss_layer_.forward(n, loss_in, losses, saved_values, labels.data());
  const double sum = std::accumulate(losses, losses + n, 0.0);
  if (dxs == nullptr) return sum;

  const float one = 1;
  const Places ones(n, &one), saved = rows(saved_values, n, kept);
  const GradientPlaces dscores(scores, false), dx(*dxs, false);  // gradients replace the scores
  const Destination loss_dx[] = {dscores.destination()};
  BackwardCall loss;
  loss.n = n;
  loss.in = loss_in;
  loss.saved.items = saved.data();
  loss.dy.items = ones.data();
  loss.dx = loss_dx;
  loss.integers = labels.data();
  loss_layer_.backward(loss);
  const Operand back[] = {bias_.operand(), weights_.transposed(), {xs.data()}};
  const Destination to[] = {{}, {}, dx.destination()};
  scores_layer_.backward(back, scores, to);
  weights_.set_gradient(scores, xs);
  bias_.set_gradient(scores);
  return sum;
}

std::unique_ptr<Model> make_model(const std::string& name, unsigned hidden) {
  const auto make = name == "tree_lstm" ? make_tree_lstm : name == "tagger" ? make_tagger : nullptr;
  if (make == nullptr) return nullptr;
  return make(*bench::make_model(name, hidden, Form::fused));
}

}  // namespace dynet_like::bench::by_hand
