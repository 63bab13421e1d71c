// Forward pass, backward pass and update of the Tree-LSTM by hand.
#include "bench/by_hand/tree_lstm.h"

#include <algorithm>

#include "bench/models/models.h"

namespace dynet_like::bench::by_hand {

namespace {

std::vector<float> values_of(Workload& model, const std::string& name) {
  return as_vector(model.parameters().find(name)->tensor());
}

void pack(Weight& weight) {
  weight.forward.pack(weight.values.data(), weight.rows, weight.columns);
  weight.backward.pack_transposed(weight.values.data(), weight.rows, weight.columns);
}

Weight weight_of(Workload& model, const std::string& name) {
  Weight weight;
  const Dim& dim = model.parameters().find(name)->dim;
  weight.rows = dim[0];
  weight.columns = dim[1];
  weight.values = values_of(model, name);
  weight.gradient.resize(weight.values.size());
  pack(weight);
  return weight;
}

// gradient += the sum of dy_i x_i^T over n items; the dy lie one behind the other. Some hundred
// items at a time become a matrix and columns, so that both stay in the cache.
void add_outer_products(Weight& weight, std::size_t n, const float* dy, const float* const* x) {
  constexpr std::size_t kItems = 256;
  thread_local PackedMatrix matrix;
  thread_local std::vector<float> transposed;
  thread_local std::vector<const float*> columns;
  thread_local std::vector<float*> gradients;
  columns.resize(weight.columns);
  gradients.resize(weight.columns);
  for (std::size_t first = 0; first < n; first += kItems) {
    const std::size_t count = std::min(kItems, n - first);
    matrix.pack(dy + first * weight.rows, weight.rows, count);
    transposed.resize(weight.columns * count);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < weight.columns; ++k) {
        transposed[k * count + i] = x[first + i][k];
      }
    }
    for (std::size_t k = 0; k < weight.columns; ++k) {
      columns[k] = transposed.data() + k * count;
      gradients[k] = weight.gradient.data() + k * weight.rows;
    }
    const Term term{&matrix, columns.data()};
    multiply({&term, 1}, nullptr, weight.columns, gradients.data(), true);
  }
}

void step(float rate, std::vector<float>& values, std::vector<float>& gradient) {
  add_scaled(values.size(), -rate, gradient.data(), values.data());
  std::fill(gradient.begin(), gradient.end(), 0.0f);
}

}  // namespace

TreeLSTM::TreeLSTM(unsigned hidden) : hidden_(hidden), classes_(kTreeData.labels) {
  const std::unique_ptr<Workload> model = make_tree_lstm(hidden, Form::fused);
  table_ = values_of(*model, "/embedding/E");
  leaf_ = weight_of(*model, "/tree_lstm/W");
  left_ = weight_of(*model, "/tree_lstm/U_left");
  right_ = weight_of(*model, "/tree_lstm/U_right");
  bias_ = values_of(*model, "/tree_lstm/b");
  output_ = weight_of(*model, "/output/W");
  output_bias_ = values_of(*model, "/output/b");
  bias_gradient_.resize(bias_.size());
  output_bias_gradient_.resize(output_bias_.size());
}

double TreeLSTM::forward(std::span<const BinaryTree> trees, bool train) {
  find_levels(trees);
  allocate(train);
  forward_leaves();
  for (std::size_t level = 1; level < levels(); ++level) {
    forward_level(level_begins_[level], level_begins_[level + 1]);
  }
  xs_.clear();
  ys_.clear();
  for (std::size_t v = 0; v < cells_.size(); ++v) {
    xs_.push_back(cells_[v].h);
    ys_.push_back(scores_ + v * classes_);
  }
  const Term term{&output_.forward, xs_.data()};
  multiply({&term, 1}, output_bias_.data(), cells_.size(), ys_.data(), false);
  return softmax_losses(cells_.size(), classes_, scores_, labels_.data(), train);
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

// Without training a level overwrites the gates of the one before it, and there are no gradients.
void TreeLSTM::allocate(bool train) {
  const std::size_t n = words_.size(), inner = n - leaves();
  std::size_t widest = 0;
  for (std::size_t level = 1; level < levels(); ++level) {
    widest = std::max(widest, level_begins_[level + 1] - level_begins_[level]);
  }
  arena_.reset();
  const auto array = [&](std::size_t size) { return arena_.allocate_array<float>(size); };
  float* leaf_gates = array(leaves() * 3 * hidden_);
  float* inner_gates = array((train ? inner : widest) * 5 * hidden_);
  float *h = array(n * hidden_), *c = array(n * hidden_);
  float* dh = train ? array(n * hidden_) : nullptr;
  float* dc = train ? array(n * hidden_) : nullptr;
  scores_ = array(n * classes_);
  cells_.resize(n);
  for (std::size_t level = 0; level < levels(); ++level) {
    for (std::size_t v = level_begins_[level]; v < level_begins_[level + 1]; ++v) {
      const std::size_t row = train ? v - leaves() : v - level_begins_[level];
      cells_[v].gates = level == 0 ? leaf_gates + v * 3 * hidden_ : inner_gates + row * 5 * hidden_;
      cells_[v].h = h + v * hidden_;
      cells_[v].c = c + v * hidden_;
      cells_[v].dh = train ? dh + v * hidden_ : nullptr;
      cells_[v].dc = train ? dc + v * hidden_ : nullptr;
    }
  }
}

void TreeLSTM::forward_leaves() {
  xs_.clear();
  ys_.clear();
  for (std::size_t v = 0; v < leaves(); ++v) {
    xs_.push_back(word(v));
    ys_.push_back(cells_[v].gates);
  }
  const Term term{&leaf_.forward, xs_.data()};
  multiply({&term, 1}, bias_.data() + 2 * hidden_, leaves(), ys_.data(), false);
  for (std::size_t v = 0; v < leaves(); ++v) leaf_forward(hidden_, cells_[v]);
}

void TreeLSTM::forward_level(std::size_t begin, std::size_t end) {
  xs_.clear();
  more_xs_.clear();
  ys_.clear();
  for (std::size_t v = begin; v < end; ++v) {
    xs_.push_back(cells_[lefts_[v]].h);
    more_xs_.push_back(cells_[rights_[v]].h);
    ys_.push_back(cells_[v].gates);
  }
  const Term terms[] = {{&left_.forward, xs_.data()}, {&right_.forward, more_xs_.data()}};
  multiply(terms, bias_.data(), end - begin, ys_.data(), false);
  for (std::size_t v = begin; v < end; ++v) {
    inner_forward(hidden_, cells_[v], cells_[lefts_[v]], cells_[rights_[v]]);
  }
}

void TreeLSTM::update(float rate) {
  for (unsigned root : roots_) std::fill_n(cells_[root].dc, hidden_, 0.0f);
  backward_outputs();
  for (std::size_t level = levels(); --level > 0;) {
    backward_level(level_begins_[level], level_begins_[level + 1]);
  }
  inner_weight_gradients();
  backward_leaves(rate);
  for (Weight* weight : {&leaf_, &left_, &right_, &output_}) {
    step(rate, weight->values, weight->gradient);
    pack(*weight);
  }
  step(rate, bias_, bias_gradient_);
  step(rate, output_bias_, output_bias_gradient_);
}

// From the gradients of all scores, the first contribution to that of every h.
void TreeLSTM::backward_outputs() {
  const std::size_t n = cells_.size();
  xs_.clear();
  more_xs_.clear();
  ys_.clear();
  for (std::size_t v = 0; v < n; ++v) {
    xs_.push_back(scores_ + v * classes_);
    more_xs_.push_back(cells_[v].h);
    ys_.push_back(cells_[v].dh);
  }
  const Term term{&output_.backward, xs_.data()};
  multiply({&term, 1}, nullptr, n, ys_.data(), false);
  add_outer_products(output_, n, scores_, more_xs_.data());
  add_rows(n, classes_, scores_, output_bias_gradient_.data());
}

void TreeLSTM::backward_level(std::size_t begin, std::size_t end) {
  for (std::size_t v = begin; v < end; ++v) {
    inner_backward(hidden_, cells_[v], cells_[lefts_[v]], cells_[rights_[v]]);
  }
  xs_.clear();
  for (std::size_t v = begin; v < end; ++v) xs_.push_back(cells_[v].gates);
  for (const bool left : {true, false}) {
    ys_.clear();
    for (std::size_t v = begin; v < end; ++v) {
      ys_.push_back(cells_[left ? lefts_[v] : rights_[v]].dh);
    }
    const Term term{left ? &left_.backward : &right_.backward, xs_.data()};
    multiply({&term, 1}, nullptr, end - begin, ys_.data(), true);
  }
}

// For all levels at once: by then, gates are the gradients of their sums.
void TreeLSTM::inner_weight_gradients() {
  const std::size_t inner = cells_.size() - leaves();
  if (inner == 0) return;
  const float* sums = cells_[leaves()].gates;
  for (const bool left : {true, false}) {
    xs_.clear();
    for (std::size_t v = leaves(); v < cells_.size(); ++v) {
      xs_.push_back(cells_[left ? lefts_[v] : rights_[v]].h);
    }
    add_outer_products(left ? left_ : right_, inner, sums, xs_.data());
  }
  add_rows(inner, 5 * hidden_, sums, bias_gradient_.data());
}

// Only the rows of the table that were used change.
void TreeLSTM::backward_leaves(float rate) {
  float* gradients = arena_.allocate_array<float>(leaves() * kEmbedding);
  xs_.clear();
  more_xs_.clear();
  ys_.clear();
  for (std::size_t v = 0; v < leaves(); ++v) {
    leaf_backward(hidden_, cells_[v]);
    xs_.push_back(cells_[v].gates);
    more_xs_.push_back(word(v));
    ys_.push_back(gradients + v * kEmbedding);
  }
  const Term term{&leaf_.backward, xs_.data()};
  multiply({&term, 1}, nullptr, leaves(), ys_.data(), false);
  add_outer_products(leaf_, leaves(), cells_[0].gates, more_xs_.data());
  add_rows(leaves(), 3 * hidden_, cells_[0].gates, bias_gradient_.data() + 2 * hidden_);
  for (std::size_t v = 0; v < leaves(); ++v) {
    add_scaled(kEmbedding, -rate, ys_[v], table_.data() + words_[v] * kEmbedding);
  }
}

double TreeLSTM::product_flops() const {
  const auto n = static_cast<double>(cells_.size()), leaf = static_cast<double>(leaves());
  const auto size = [](const Weight& w) { return 2.0 * static_cast<double>(w.values.size()); };
  return leaf * size(leaf_) + (n - leaf) * (size(left_) + size(right_)) + n * size(output_);
}

}  // namespace dynet_like::bench::by_hand
