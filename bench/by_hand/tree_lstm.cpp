// Forward pass, backward pass and update of the Tree-LSTM by hand.
#include "bench/by_hand/tree_lstm.h"

#include <algorithm>
#include <numeric>

#include "bench/models/models.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

namespace {

std::vector<float> values_of(Workload& model, const std::string& name) {
  return as_vector(model.parameters().find(name)->tensor());
}

Weight weight_of(Queue& queue, Workload& model, const std::string& name) {
  return Weight(queue, model.parameters().find(name)->dim, values_of(model, name));
}

/// One pointer per node of [begin, end).
template <class Place>
Places places(std::size_t begin, std::size_t end, const Place& place) {
  Places all;
  all.reserve(end - begin);
  for (std::size_t v = begin; v < end; ++v) all.push_back(place(v));
  return all;
}

}  // namespace

TreeLSTM::TreeLSTM(unsigned hidden) : TreeLSTM(hidden, *make_tree_lstm(hidden, Form::fused)) {}

TreeLSTM::TreeLSTM(unsigned hidden, Workload& model)
    : queue_(make_cpu_queue()),
      hidden_(hidden),
      classes_(kTreeData.labels),
      table_(values_of(model, "/embedding/E")),
      w_(weight_of(*queue_, model, "/tree_lstm/W")),
      left_(weight_of(*queue_, model, "/tree_lstm/U_left")),
      right_(weight_of(*queue_, model, "/tree_lstm/U_right")),
      bias_(weight_of(*queue_, model, "/tree_lstm/b")),
      output_(weight_of(*queue_, model, "/output/W")),
      output_bias_(weight_of(*queue_, model, "/output/b")),
      leaf_layer_(*queue_, ops::lstm_cell, {Dim({3 * hidden}), w_.dim(), Dim({kEmbedding})},
                  {0, 0}),
      inner_layer_(*queue_, ops::lstm_cell,
                   {bias_.dim(), Dim({hidden}), Dim({hidden}), left_.dim(), Dim({hidden}),
                    right_.dim(), Dim({hidden})},
                   {2, 0}),
      output_layer_(*queue_, ops::affine_transform,
                    {output_bias_.dim(), output_.dim(), Dim({hidden})}),
      loss_layer_(*queue_, ops::pickneglogsoftmax, {output_bias_.dim()}) {}

struct TreeLSTM::Children {
  Places left_h, left_c, right_h, right_c;

  Children(const TreeLSTM& model, std::size_t begin, std::size_t end)
      : left_h(places(begin, end, [&](std::size_t v) { return model.h(model.lefts_[v]); })),
        left_c(places(begin, end, [&](std::size_t v) { return model.c(model.lefts_[v]); })),
        right_h(places(begin, end, [&](std::size_t v) { return model.h(model.rights_[v]); })),
        right_c(places(begin, end, [&](std::size_t v) { return model.c(model.rights_[v]); })) {}
};

double TreeLSTM::forward(std::span<const BinaryTree> trees, bool train) {
  find_levels(trees);
  allocate(train);
  forward_leaves();
  for (std::size_t level = 1; level < levels(); ++level) {
    forward_level(level_begins_[level], level_begins_[level + 1]);
  }
  return forward_losses();
}

// Sorts the nodes of all trees by their height, by counting.
void TreeLSTM::find_levels(std::span<const BinaryTree> trees) {
  thread_local std::vector<unsigned> heights, places;
  heights.clear();
  level_begins_.assign(1, 0);
  for (const BinaryTree& tree : trees) {
    const std::size_t first = heights.size();
    for (const BinaryTree::Node& node : tree.nodes) {
      const unsigned height =
          node.is_leaf() ? 0
                         : 1 + std::max(heights[first + node.left], heights[first + node.right]);
      heights.push_back(height);
      if (level_begins_.size() < height + 2) level_begins_.resize(height + 2);
      ++level_begins_[height + 1];
    }
  }
  for (std::size_t i = 1; i < level_begins_.size(); ++i) level_begins_[i] += level_begins_[i - 1];
  std::vector<std::size_t> next = level_begins_;
  places.resize(heights.size());
  for (auto* array : {&lefts_, &rights_, &words_, &labels_}) array->resize(heights.size());
  roots_.clear();
  std::size_t first = 0;
  for (const BinaryTree& tree : trees) {
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const BinaryTree::Node& node = tree.nodes[i];
      const auto place = static_cast<unsigned>(next[heights[first + i]]++);
      places[first + i] = place;
      words_[place] = node.word;
      labels_[place] = node.label;
      if (node.is_leaf()) continue;
      lefts_[place] = places[first + node.left];
      rights_[place] = places[first + node.right];
    }
    first += tree.nodes.size();
    roots_.push_back(places[first - 1]);
  }
}

// Without training there is nothing to keep, and there are no gradients.
void TreeLSTM::allocate(bool train) {
  const std::size_t inner = size() - leaves();
  arena_.reset();
  const auto array = [&](bool needed, std::size_t count) {
    return needed ? arena_.allocate_array<float>(count) : nullptr;
  };
  states_ = array(true, size() * 2 * hidden_);
  scores_ = array(true, size() * classes_);
  losses_ = array(true, size());
  leaf_saved_ = array(train, leaves() * leaf_layer_.type().saved_size);
  inner_saved_ = array(train, inner * inner_layer_.type().saved_size);
  loss_saved_ = array(train, size() * loss_layer_.type().saved_size);
  dstates_ = array(train, size() * 2 * hidden_);
  dscores_ = array(train, size() * classes_);
  leaf_dgates_ = array(train, leaves() * 3 * hidden_);
  inner_dgates_ = array(train, inner * 5 * hidden_);
}

void TreeLSTM::forward_leaves() {
  const Places words = places(0, leaves(), [&](std::size_t v) { return word(v); });
  const Operand in[] = {leaf_bias(), w_.operand(), {words.data()}};
  leaf_layer_.forward(leaves(), in, h(0), leaf_saved_);
}

void TreeLSTM::forward_level(std::size_t begin, std::size_t end) {
  const Children children(*this, begin, end);
  const Operand in[] = {bias_.operand(),           {children.left_c.data()},
                        {children.right_c.data()}, left_.operand(),
                        {children.left_h.data()},  right_.operand(),
                        {children.right_h.data()}};
  inner_layer_.forward(end - begin, in, h(begin), saved(begin));
}

double TreeLSTM::forward_losses() {
  const Places hs = places(0, size(), [&](std::size_t v) { return h(v); });
  const Operand in[] = {output_bias_.operand(), output_.operand(), {hs.data()}};
  output_layer_.forward(size(), in, scores_, nullptr);
  const Places scores = places(0, size(), [&](std::size_t v) { return scores_ + v * classes_; });
  const Operand loss_in[] = {{scores.data()}};
  loss_layer_.forward(size(), loss_in, losses_, loss_saved_, labels_.data());
  return std::accumulate(losses_, losses_ + size(), 0.0);
}

void TreeLSTM::update(float rate) {
  backward_losses();
  for (std::size_t level = levels(); --level > 0;) {
    backward_level(level_begins_[level], level_begins_[level + 1]);
  }
  const Places inner = places(leaves(), size(), [&](std::size_t v) { return dgates(v); });
  const Children children(*this, leaves(), size());
  left_.set_gradient(inner, children.left_h);
  right_.set_gradient(inner, children.right_h);
  bias_.set_gradient(inner);
  backward_leaves(rate);
  for (Weight* weight : {&w_, &left_, &right_, &bias_, &output_, &output_bias_}) {
    weight->update(rate);
  }
}

// The first contribution to every h; a root's c gets none.
void TreeLSTM::backward_losses() {
  const std::size_t n = size();
  const float one = 1;
  const Places ones(n, &one), hs = places(0, n, [&](std::size_t v) { return h(v); });
  const Places scores = places(0, n, [&](std::size_t v) { return scores_ + v * classes_; });
  const std::size_t each = loss_layer_.type().saved_size;
  const Places saved = places(0, n, [&](std::size_t v) { return loss_saved_ + v * each; });
  const Places dscores = places(0, n, [&](std::size_t v) { return dscores_ + v * classes_; });

  const GradientPlaces dscore(dscores, false);
  const Operand loss_in[] = {{scores.data()}};
  const Destination loss_dx[] = {dscore.destination()};
  BackwardCall loss;
  loss.n = n;
  loss.in = loss_in;
  loss.saved.items = saved.data();
  loss.dy.items = ones.data();
  loss.dx = loss_dx;
  loss.integers = labels_.data();
  loss_layer_.backward(loss);

  const GradientPlaces to_h(places(0, n, [&](std::size_t v) { return dh(v); }), false);
  const Operand in[] = {output_bias_.operand(), output_.transposed(), {hs.data()}};
  const Destination dx[] = {{}, {}, to_h.destination()};
  BackwardCall call;
  call.n = n;
  call.in = in;
  call.dy.items = dscores.data();
  call.dx = dx;
  output_layer_.backward(call);
  output_.set_gradient(dscores, hs);
  output_bias_.set_gradient(dscores);
  for (unsigned root : roots_) std::fill_n(dc(root), hidden_, 0.0f);
}

void TreeLSTM::backward_level(std::size_t begin, std::size_t end) {
  const Children children(*this, begin, end);
  const Places kept = places(begin, end, [&](std::size_t v) { return saved(v); });
  const Places dy = places(begin, end, [&](std::size_t v) { return dh(v); });
  const GradientPlaces to_gates(places(begin, end, [&](std::size_t v) { return dgates(v); }),
                                false);
  const GradientPlaces left_dc(places(begin, end, [&](std::size_t v) { return dc(lefts_[v]); }),
                               false);
  const GradientPlaces right_dc(places(begin, end, [&](std::size_t v) { return dc(rights_[v]); }),
                                false);
  const GradientPlaces left_dh(places(begin, end, [&](std::size_t v) { return dh(lefts_[v]); }),
                               true);
  const GradientPlaces right_dh(places(begin, end, [&](std::size_t v) { return dh(rights_[v]); }),
                                true);
  const Operand in[] = {bias_.operand(),           {children.left_c.data()},
                        {children.right_c.data()}, left_.transposed(),
                        {children.left_h.data()},  right_.transposed(),
                        {children.right_h.data()}};
  const Destination dx[] = {
      {}, left_dc.destination(), right_dc.destination(), {}, left_dh.destination(),
      {}, right_dh.destination()};
  BackwardCall call;
  call.n = end - begin;
  call.in = in;
  call.saved.items = kept.data();
  call.dy.items = dy.data();
  call.dx = dx;
  call.deferred = to_gates.items();
  inner_layer_.backward(call);
}

// Only the rows of the table that were used change.
void TreeLSTM::backward_leaves(float rate) {
  const std::size_t n = leaves();
  auto* dwords = arena_.allocate_array<float>(n * kEmbedding);
  const Places words = places(0, n, [&](std::size_t v) { return word(v); });
  const Places saved =
      places(0, n, [&](std::size_t v) { return leaf_saved_ + v * leaf_layer_.type().saved_size; });
  const Places dy = places(0, n, [&](std::size_t v) { return dh(v); });
  const Places dgates = places(0, n, [&](std::size_t v) { return leaf_dgates_ + v * 3 * hidden_; });
  const GradientPlaces deferred(dgates, false);
  const GradientPlaces dword(places(0, n, [&](std::size_t v) { return dwords + v * kEmbedding; }),
                             false);
  const Operand in[] = {leaf_bias(), w_.transposed(), {words.data()}};
  const Destination dx[] = {{}, {}, dword.destination()};
  BackwardCall call;
  call.n = n;
  call.in = in;
  call.saved.items = saved.data();
  call.dy.items = dy.data();
  call.dx = dx;
  call.deferred = deferred.items();
  leaf_layer_.backward(call);
  w_.set_gradient(dgates, words);
  bias_.add_gradient(2 * hidden_, 3 * hidden_, dgates);
  for (std::size_t v = 0; v < n; ++v) {
    float* row = table_.data() + words_[v] * kEmbedding;
    updates::descend(DType::f32, row, dwords + v * kEmbedding, kEmbedding, rate, 1);
  }
}

double TreeLSTM::product_flops() const {
  const auto n = static_cast<double>(size()), leaf = static_cast<double>(leaves());
  const auto flops = [](const Weight& w) { return 2.0 * static_cast<double>(w.dim().size()); };
  return leaf * flops(w_) + (n - leaf) * (flops(left_) + flops(right_)) + n * flops(output_);
}

}  // namespace dynet_like::bench::by_hand
