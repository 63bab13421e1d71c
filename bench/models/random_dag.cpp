// Networks of random shape: each instance has another one.
#include "bench/models/models.h"
#include "bench/models/op_cells.h"
#include "nn/embedding.h"
#include "nn/gru.h"
#include "nn/linear.h"

namespace dynet_like::bench {

namespace {

// W p + U q + b, with the parameters "W", "U" and "b".
class TwoInputs {
 public:
  TwoInputs(ParameterCollection& model, unsigned hidden, const std::string& name) {
    ParameterCollection own = model.add_subcollection(name);
    left_ = own.add_parameters({hidden, hidden}, "W");
    right_ = own.add_parameters({hidden, hidden}, "U");
    bias_ = own.add_parameters({hidden}, ParameterInitConst(0), "b");
  }
  Expression operator()(const Expression& p, const Expression& q) const {
    return affine_transform({bias_, left_, p, right_, q});
  }

 private:
  Parameter left_, right_, bias_;
};

template <class Cell>
class RandomDagWorkload : public Workload {
 public:
  explicit RandomDagWorkload(unsigned hidden)
      : dags_(make_dags(kDagData)),
        embedding_(parameters_, kDagData.vocabulary, kEmbedding),
        word_(parameters_, kEmbedding, hidden, {.name = "word"}),
        combine_(parameters_, hidden, "combine"),
        gate_(parameters_, hidden, "gate"),
        gru_(parameters_, hidden, hidden, {.name = "gru"}),
        output_(parameters_, hidden, kDagData.labels, {.name = "output"}) {}

  std::size_t size() const override { return dags_.size(); }
  std::size_t words(std::size_t instance) const override { return dags_[instance].nodes.size(); }

  Expression loss(ComputationGraph& graph, std::size_t instance) const override {
    std::vector<Expression> values, losses;
    for (const RandomDag::Node& node : dags_[instance].nodes) {
      values.push_back(value(graph, node, values));
      if (node.is_sink) {
        losses.push_back(cross_entropy(output_(values.back()), node.label));
      }
    }
    return sum(losses);
  }

 private:
  Expression value(ComputationGraph& graph, const RandomDag::Node& node,
                   const std::vector<Expression>& values) const {
    using Kind = RandomDag::Kind;
    if (node.kind == Kind::word) return tanh(word_(embedding_(graph, node.a)));
    const Expression &p = values[node.a], &q = values[node.b];
    if (node.kind == Kind::combine) return tanh(combine_(p, q));
    if (node.kind == Kind::gru) return gru_.step(p, q);
    const Expression gate = sigmoid(gate_(p, q));
    return cmult(gate, p) + cmult(1.0f - gate, q);
  }

  std::vector<RandomDag> dags_;
  nn::Embedding embedding_;
  nn::Linear word_;
  TwoInputs combine_, gate_;
  Cell gru_;
  nn::Linear output_;
};

}  // namespace

std::unique_ptr<Workload> make_random_dag(unsigned hidden, Form form) {
  return make_form<RandomDagWorkload<nn::GRU>, RandomDagWorkload<OpGRU>>(hidden, form);
}

}  // namespace dynet_like::bench
