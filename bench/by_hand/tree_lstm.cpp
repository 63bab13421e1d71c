// The Tree-LSTM. The nodes of all trees are sorted by height, nodes of the same height are run
// together, and each weight gradient is one product at the end.
#include <algorithm>

#include "bench/by_hand/model.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

namespace {

class TreeLSTM : public Model {
 public:
  explicit TreeLSTM(Workload& model)
      : Model(model),
        trees_(make_trees(kTreeData)),
        w_(weight_of(model, "/tree_lstm/W")),
        left_(weight_of(model, "/tree_lstm/U_left")),
        right_(weight_of(model, "/tree_lstm/U_right")),
        bias_(weight_of(model, "/tree_lstm/b")),
        output_(*queue_, weight_of(model, "/output/W"), weight_of(model, "/output/b")),
        hidden_(left_.dim().cols()),
        leaf_layer_(*queue_, ops::lstm_cell, {Dim({3 * hidden_}), w_.dim(), Dim({w_.dim().cols()})},
                    {0, 0}),
        inner_layer_(*queue_, ops::lstm_cell,
                     {bias_.dim(), Dim({hidden_}), Dim({hidden_}), left_.dim(), Dim({hidden_}),
                      right_.dim(), Dim({hidden_})},
                     {2, 0}) {}

  std::size_t size() const override { return trees_.size(); }
  std::size_t words(std::size_t instance) const override { return trees_[instance].nodes.size(); }

  double forward(std::size_t first, std::size_t count, bool train) override {
    find_levels(std::span(trees_).subspan(first, count));
    allocate(train);
    const Places leaf_words = word_rows();
    const Operand in[] = {leaf_bias(), w_.operand(), {leaf_words.data()}};
    leaf_layer_.forward(leaves(), in, h(0), leaf_saved_);
    for (std::size_t level = 1; level < steps(); ++level) {
      forward_inner(level_begins_[level], level_begins_[level + 1]);
    }
    // In training, this gives the first contribution to every dh. The dc of a root gets none.
    const Places hs = places(0, nodes(), [&](std::size_t v) { return h(v); });
    if (!train) return output_.run(hs, labels_, arena_, nullptr);
    for (const unsigned root : roots_) std::fill_n(dc(root), hidden_, 0.0f);
    const Places dhs = places(0, nodes(), [&](std::size_t v) { return dh(v); });
    return output_.run(hs, labels_, arena_, &dhs);
  }

  void update(float rate) override {
    for (std::size_t level = steps(); --level > 0;) {
      backward_inner(level_begins_[level], level_begins_[level + 1]);
    }
    const Places of_gates = dgates(leaves(), nodes());
    left_.set_gradient(of_gates, children(leaves(), nodes()).left_h);
    right_.set_gradient(of_gates, children(leaves(), nodes()).right_h);
    bias_.set_gradient(of_gates);
    auto* const dwords = arena_.allocate_array<float>(leaves() * embedding());
    backward_leaves(dwords);
    descend(dwords, rate);
  }

  std::vector<Weight*> weights() override {
    std::vector<Weight*> all = output_.weights();
    all.insert(all.end(), {&w_, &left_, &right_, &bias_});
    return all;
  }
  double product_flops() const override {
    const auto n = static_cast<double>(nodes()), leaf = static_cast<double>(leaves());
    return leaf * w_.flops() + (n - leaf) * (left_.flops() + right_.flops()) +
           n * output_.product_flops();
  }
  std::size_t steps() const override { return level_begins_.size() - 1; }

 private:
  struct Children {
    Places left_h, left_c, right_h, right_c;
  };

  Children children(std::size_t begin, std::size_t end) const {
    return {places(begin, end, [&](std::size_t v) { return h(lefts_[v]); }),
            places(begin, end, [&](std::size_t v) { return c(lefts_[v]); }),
            places(begin, end, [&](std::size_t v) { return h(rights_[v]); }),
            places(begin, end, [&](std::size_t v) { return c(rights_[v]); })};
  }

  // Sorts the nodes of all trees by height, by counting.
  void find_levels(std::span<const BinaryTree> trees) {
    heights_.clear();
    level_begins_.assign(1, 0);
    for (const BinaryTree& tree : trees) {
      const std::size_t first = heights_.size();
      for (const BinaryTree::Node& node : tree.nodes) {
        const unsigned height = node.is_leaf() ? 0
                                               : 1 + std::max(heights_[first + node.left],
                                                              heights_[first + node.right]);
        heights_.push_back(height);
        if (level_begins_.size() < height + 2) level_begins_.resize(height + 2);
        ++level_begins_[height + 1];
      }
    }
    for (std::size_t i = 1; i < level_begins_.size(); ++i) level_begins_[i] += level_begins_[i - 1];
    std::vector<std::size_t> next = level_begins_;
    places_.resize(heights_.size());
    for (auto* array : {&lefts_, &rights_, &words_, &labels_}) array->resize(heights_.size());
    roots_.clear();
    std::size_t first = 0;
    for (const BinaryTree& tree : trees) {
      for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
        const BinaryTree::Node& node = tree.nodes[i];
        const auto place = static_cast<unsigned>(next[heights_[first + i]]++);
        places_[first + i] = place;
        labels_[place] = node.label;
        if (node.is_leaf()) {
          words_[place] = node.word;
        } else {
          lefts_[place] = places_[first + node.left];
          rights_[place] = places_[first + node.right];
        }
      }
      first += tree.nodes.size();
      roots_.push_back(places_[first - 1]);
    }
    words_.resize(leaves());
  }

  // Without training there are no gradients, and nothing is kept for them.
  void allocate(bool train) {
    arena_.reset();
    const auto array = [&](bool needed, std::size_t count) {
      return needed ? arena_.allocate_array<float>(count) : nullptr;
    };
    states_ = array(true, nodes() * 2 * hidden_);
    leaf_saved_ = array(train, leaves() * leaf_layer_.type().saved_size);
    inner_saved_ = array(train, (nodes() - leaves()) * inner_layer_.type().saved_size);
    dstates_ = array(train, nodes() * 2 * hidden_);
    dgates_ = array(train, nodes() * 5 * hidden_);
  }

  void forward_inner(std::size_t begin, std::size_t end) {
    const Children of = children(begin, end);
    const Operand in[] = {bias_.operand(),    {of.left_c.data()}, {of.right_c.data()},
                          left_.operand(),    {of.left_h.data()}, right_.operand(),
                          {of.right_h.data()}};
    inner_layer_.forward(end - begin, in, h(begin),
                         inner_saved_ == nullptr ? nullptr : inner_saved(begin));
  }

  // Gradients of the children's h are added to those of the losses, those of their c are written.
  void backward_inner(std::size_t begin, std::size_t end) {
    const Children of = children(begin, end);
    const Places saved = places(begin, end, [&](std::size_t v) { return inner_saved(v); });
    const auto gradients = [&](bool add, const auto& place) {
      return GradientPlaces(places(begin, end, place), add);
    };
    const auto left_dc = gradients(false, [&](std::size_t v) { return dc(lefts_[v]); });
    const auto right_dc = gradients(false, [&](std::size_t v) { return dc(rights_[v]); });
    const auto left_dh = gradients(true, [&](std::size_t v) { return dh(lefts_[v]); });
    const auto right_dh = gradients(true, [&](std::size_t v) { return dh(rights_[v]); });
    const Operand in[] = {bias_.operand(),    {of.left_c.data()}, {of.right_c.data()},
                          left_.transposed(), {of.left_h.data()}, right_.transposed(),
                          {of.right_h.data()}};
    const Destination dx[] = {
        {}, left_dc.destination(), right_dc.destination(), {}, left_dh.destination(),
        {}, right_dh.destination()};
    run_backward(inner_layer_, begin, end, in, saved, dx);
  }

  void backward_leaves(float* dwords) {
    const std::size_t n = leaves(), each = leaf_layer_.type().saved_size;
    const Places leaf_words = word_rows(), saved = rows(leaf_saved_, n, each);
    const GradientPlaces dword(rows(dwords, n, embedding()), false);
    const Operand in[] = {leaf_bias(), w_.transposed(), {leaf_words.data()}};
    const Destination dx[] = {{}, {}, dword.destination()};
    run_backward(leaf_layer_, 0, n, in, saved, dx);
    w_.set_gradient(dgates(0, n), leaf_words);
    bias_.add_gradient(kLeafRow * hidden_, 3 * hidden_, dgates(0, n));
  }

  void run_backward(Layer& layer, std::size_t begin, std::size_t end, const Operand* in,
                    const Places& saved, const Destination* dx) {
    const Places dy =
        places(2 * begin, 2 * end, [&](std::size_t part) { return dstates_ + part * hidden_; });
    const GradientPlaces deferred(dgates(begin, end), false);
    BackwardCall call;
    call.n = end - begin;
    call.in = in;
    call.saved.items = saved.data();
    call.dy.items = dy.data();
    call.dx = dx;
    call.deferred = deferred.items();
    layer.backward(call);
  }

  std::size_t nodes() const { return labels_.size(); }
  std::size_t leaves() const { return level_begins_[1]; }
  /// Leaves have no forget gates, whose rows are the first two.
  static constexpr std::size_t kLeafRow = 2;
  Operand leaf_bias() const { return {nullptr, bias_.values() + kLeafRow * hidden_}; }
  float* h(std::size_t node) const { return states_ + node * 2 * hidden_; }
  float* c(std::size_t node) const { return h(node) + hidden_; }
  float* dh(std::size_t node) const { return dstates_ + node * 2 * hidden_; }
  float* dc(std::size_t node) const { return dh(node) + hidden_; }
  float* inner_saved(std::size_t node) const {
    return inner_saved_ + (node - leaves()) * inner_layer_.type().saved_size;
  }
  Places dgates(std::size_t begin, std::size_t end) const {
    return rows(dgates_ + begin * 5 * hidden_, end - begin, 5 * hidden_);
  }

  const std::vector<BinaryTree> trees_;
  Weight w_, left_, right_, bias_;
  WordLosses output_;
  unsigned hidden_;
  Layer leaf_layer_, inner_layer_;

  // Nodes by height, leaves first. Children are indices in this order.
  std::vector<std::size_t> level_begins_;
  std::vector<unsigned> lefts_, rights_, roots_, heights_, places_;

  // By node, in the same order; null without training, except states. A state is h, then c.
  float *states_ = nullptr, *leaf_saved_ = nullptr, *inner_saved_ = nullptr;
  float *dstates_ = nullptr, *dgates_ = nullptr;
};

}  // namespace

std::unique_ptr<Model> make_tree_lstm(Workload& model) { return std::make_unique<TreeLSTM>(model); }

}  // namespace dynet_like::bench::by_hand
