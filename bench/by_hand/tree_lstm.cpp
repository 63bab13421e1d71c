// Forward pass, backward pass and update of the Tree-LSTMs by hand.
#include "bench/by_hand/tree_lstm.h"

#include <algorithm>
#include <stdexcept>

#include "bench/by_hand/parameters.h"
#include "bench/models/models.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

namespace {

MakeInnerCell cell_of(const std::string& name) {
  if (name == TreeLSTM::kBothForget) return make_both_forget_cell;
  if (name == TreeLSTM::kOwnForget) return make_own_forget_cell;
  throw std::invalid_argument("there is no model \"" + name + "\" by hand");
}

}  // namespace

TreeLSTM::TreeLSTM(const std::string& name, unsigned hidden)
    : TreeLSTM(*make_model(name, hidden, Form::fused), hidden, cell_of(name)) {}

TreeLSTM::TreeLSTM(Workload& model, unsigned hidden, MakeInnerCell make_cell)
    : queue_(make_cpu_queue()),
      hidden_(hidden),
      table_(values_of(model, "/embedding/E")),
      w_(weight_of(*queue_, model, "/tree_lstm/W")),
      output_(*queue_, model, "/output"),
      cell_(make_cell(*queue_, model)),
      leaf_layer_(*queue_, ops::lstm_cell, {Dim({3 * hidden}), w_.dim(), Dim({kEmbedding})},
                  {0, 0}) {}

double TreeLSTM::forward(std::span<const BinaryTree> trees, bool train) {
  find_levels(trees);
  allocate(train);
  forward_leaves();
  for (std::size_t level = 1; level < levels(); ++level) {
    const std::size_t begin = level_begins_[level];
    cell_->forward(inner_nodes(begin, level_begins_[level + 1]), h(begin));
  }
  return run_losses(train);
}

// Sorts the nodes of all trees by height, by counting.
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

// Without training there are no gradients, and nothing is kept for them.
void TreeLSTM::allocate(bool train) {
  arena_.reset();
  const auto array = [&](bool needed, std::size_t count) {
    return needed ? arena_.allocate_array<float>(count) : nullptr;
  };
  states_ = array(true, size() * 2 * hidden_);
  leaf_saved_ = array(train, leaves() * leaf_layer_.type().saved_size);
  dstates_ = array(train, size() * 2 * hidden_);
  leaf_dgates_ = array(train, leaves() * 3 * hidden_);
  cell_->allocate(arena_, size() - leaves(), train);
}

InnerNodes TreeLSTM::inner_nodes(std::size_t begin, std::size_t end) const {
  return {begin - leaves(),
          end - begin,
          places(begin, end, [&](std::size_t v) { return h(lefts_[v]); }),
          places(begin, end, [&](std::size_t v) { return c(lefts_[v]); }),
          places(begin, end, [&](std::size_t v) { return h(rights_[v]); }),
          places(begin, end, [&](std::size_t v) { return c(rights_[v]); })};
}

void TreeLSTM::forward_leaves() {
  const Places words = places(0, leaves(), [&](std::size_t v) { return word(v); });
  const Operand in[] = {leaf_bias(), w_.operand(), {words.data()}};
  leaf_layer_.forward(leaves(), in, h(0), leaf_saved_);
}

// In training, this gives the first contribution to every dh. The dc of a root gets none.
double TreeLSTM::run_losses(bool train) {
  const Places hs = places(0, size(), [&](std::size_t v) { return h(v); });
  if (!train) return output_.forward(hs, labels_, arena_);
  for (unsigned root : roots_) std::fill_n(dc(root), hidden_, 0.0f);
  const Places dhs = places(0, size(), [&](std::size_t v) { return dh(v); });
  return output_.forward_and_backward(hs, labels_, arena_, dhs);
}

void TreeLSTM::update(float rate) {
  for (std::size_t level = levels(); --level > 0;) {
    backward_level(level_begins_[level], level_begins_[level + 1]);
  }
  cell_->set_weight_gradients(inner_nodes(leaves(), size()));
  backward_leaves(rate);
  for (Weight* weight : weights()) weight->update(rate);
}

std::vector<Weight*> TreeLSTM::weights() {
  std::vector<Weight*> all = cell_->weights();
  all.push_back(&w_);
  for (Weight* weight : output_.weights()) all.push_back(weight);
  return all;
}

void TreeLSTM::backward_level(std::size_t begin, std::size_t end) {
  const auto of_nodes = [&](const auto& place) { return places(begin, end, place); };
  cell_->backward(inner_nodes(begin, end),
                  {of_nodes([&](std::size_t v) { return dh(v); }),
                   of_nodes([&](std::size_t v) { return dh(lefts_[v]); }),
                   of_nodes([&](std::size_t v) { return dc(lefts_[v]); }),
                   of_nodes([&](std::size_t v) { return dh(rights_[v]); }),
                   of_nodes([&](std::size_t v) { return dc(rights_[v]); })});
}

// Only rows of the table that were used change.
void TreeLSTM::backward_leaves(float rate) {
  const std::size_t n = leaves();
  auto* dwords = arena_.allocate_array<float>(n * kEmbedding);
  const Places words = places(0, n, [&](std::size_t v) { return word(v); });
  const Places saved =
      places(0, n, [&](std::size_t v) { return leaf_saved_ + v * leaf_layer_.type().saved_size; });
  const Places dy = places(0, 2 * n, [&](std::size_t v) { return dstates_ + v * hidden_; });
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
  cell_->bias().add_gradient(cell_->leaf_row(), 3 * hidden_, dgates);
  for (std::size_t v = 0; v < n; ++v) {
    float* row = table_.data() + words_[v] * kEmbedding;
    descend(row, dwords + v * kEmbedding, kEmbedding, rate);
  }
}

double TreeLSTM::product_flops() const {
  const auto n = static_cast<double>(size()), leaf = static_cast<double>(leaves());
  return leaf * w_.flops() + (n - leaf) * cell_->product_flops() + n * output_.product_flops();
}

}  // namespace dynet_like::bench::by_hand
