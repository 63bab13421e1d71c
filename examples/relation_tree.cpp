// A Tree-LSTM over dependency trees whose gates depend on the relation of a child to its head.
//
// No layer of nn/ has such gates. They are written here as in a paper, from public operations, and
// declared to be one cell: cell(f). A relation is an integer of the call: it chooses rows of two
// tables, a bias of the forget gate and a diagonal for the state that comes up. With a matrix for
// each relation, every combination of relations would be a cell type of its own.
//
// Every word of a tree is good (1), bad (-1) or neither (0). A child that supports its head adds
// what it is worth, one that denies it subtracts that, and what is mentioned only does not count;
// no word or part of the tree is worth more than 1 or less than -1. How much is the tree worth?
//
// Expected: at least 95 % of 1,000 new trees are right, after a few seconds. With --explain the
// program shows what ran in the last step; the cells are named "tree node" there.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "examples/support/program.h"

using namespace dynet_like;

namespace {

enum Relation : unsigned { kSupports, kDenies, kMentions, kRelations };
constexpr unsigned kForms = 30, kDeepest = 4, kMostChildren = 3, kHidden = 32, kBatch = 32;
constexpr unsigned kSteps = 1500;

// A word is a tree with all that depends on it.
struct Word {
  unsigned form = 0;
  Relation relation = kSupports;  // to its head
  std::vector<Word> children;
};

int worth(const Word& word) {
  int sum = static_cast<int>(word.form % 3) - 1;
  for (const Word& child : word.children) {
    if (child.relation == kSupports) sum += worth(child);
    if (child.relation == kDenies) sum -= worth(child);
  }
  return std::clamp(sum, -1, 1);
}

Word random_tree(Random& random, unsigned deepest = kDeepest) {
  Word word{static_cast<unsigned>(random.below(kForms)),
            static_cast<Relation>(random.below(kRelations)),
            {}};
  const auto children = deepest == 0 ? 0 : random.below(kMostChildren + 1);
  for (unsigned i = 0; i < children; ++i) word.children.push_back(random_tree(random, deepest - 1));
  return word;
}

struct State {
  Expression h, c;
};

struct Gate {
  explicit Gate(ParameterCollection& model)
      : w(model.add_parameters({kHidden, kHidden})),
        u(model.add_parameters({kHidden, kHidden})),
        b(model.add_parameters({kHidden}, ParameterInitConst(0))) {}
  Expression operator()(ComputationGraph& graph, const Expression& x, const Expression& h) const {
    return affine_transform({parameter(graph, b), parameter(graph, w), x, parameter(graph, u), h});
  }
  Parameter w, u, b;
};

struct RelationTreeLSTM {
  ParameterCollection parameters{1};
  LookupParameter forms = parameters.add_lookup_parameters(kForms, {kHidden});
  LookupParameter diagonals =
      parameters.add_lookup_parameters(kRelations, {kHidden}, ParameterInitConst(1));
  LookupParameter forget_biases =
      parameters.add_lookup_parameters(kRelations, {kHidden}, ParameterInitConst(1));
  Gate input{parameters}, output{parameters}, update{parameters}, forget{parameters};
  Parameter scores = parameters.add_parameters({3, kHidden});

  // Several inputs and outputs, and integers: all of this is one node for the planner. Each number
  // of children has a cell type.
  State node(ComputationGraph& graph, unsigned form, const std::vector<State>& children,
             const std::vector<Relation>& relations) const {
    const Expression x = lookup(graph, forms, form);
    std::vector<Expression> messages, cells;
    for (std::size_t i = 0; i < children.size(); ++i) {
      messages.push_back(cmult(lookup(graph, diagonals, relations[i]), children[i].h));
      const Expression keep =
          logistic(forget(graph, x, children[i].h) + lookup(graph, forget_biases, relations[i]));
      cells.push_back(cmult(keep, children[i].c));
    }
    const Expression h = children.empty() ? zeros(graph, {kHidden}) : sum(messages);
    cells.push_back(cmult(logistic(input(graph, x, h)), tanh(update(graph, x, h))));
    const Expression c = sum(cells);
    return {cmult(logistic(output(graph, x, h)), tanh(c)), c};
  }

  template <class TreeNode>
  State read(const TreeNode& tree_node, ComputationGraph& graph, const Word& tree) const {
    std::vector<State> children;
    std::vector<Relation> relations;
    for (const Word& child : tree.children) {
      children.push_back(read(tree_node, graph, child));
      relations.push_back(child.relation);
    }
    return tree_node(graph, tree.form, children, relations);
  }

  // The scores of -1, 0 and 1.
  Expression operator()(ComputationGraph& graph, const Word& tree) const {
    const auto tree_node = cell(std::bind_front(&RelationTreeLSTM::node, this), "tree node");
    return parameter(graph, scores) * read(tree_node, graph, tree).h;
  }
};

int best(const Tensor& scores) {
  return static_cast<int>(std::max_element(scores.v, scores.v + 3) - scores.v) - 1;
}

unsigned right_of(const RelationTreeLSTM& model, const std::vector<Word>& trees) {
  GraphOptions options;
  options.inference = true;
  Minibatch batch(options);
  std::vector<Expression> outputs;
  for (const Word& tree : trees) {
    outputs.push_back(model(batch.new_graph(), tree));
    batch.add_output(outputs.back());
  }
  batch.forward();
  unsigned right = 0;
  for (std::size_t i = 0; i < trees.size(); ++i)
    right += best(outputs[i].value()) == worth(trees[i]);
  return right;
}

void run(bool explains) {
  Random random(1);
  RelationTreeLSTM model;
  AdamTrainer trainer(model.parameters, 0.003f);
  Minibatch batch;
  for (unsigned step = 1; step <= kSteps; ++step) {
    batch.clear();
    for (unsigned sample = 0; sample < kBatch; ++sample) {
      const Word tree = random_tree(random);
      const auto label = static_cast<unsigned>(worth(tree) + 1);
      batch.add_loss(pickneglogsoftmax(model(batch.new_graph(), tree), label));
    }
    const float loss = batch.forward();
    trainer.update(batch.backward());
    if (step % 250 == 0) std::printf("step %u: loss %.3f\n", step, loss / kBatch);
  }
  if (explains) std::cout << batch.explain() << std::flush;
  std::vector<Word> trees(1000);
  for (Word& tree : trees) tree = random_tree(random);
  std::printf("%.1f %% of %zu new trees are right\n", right_of(model, trees) / 10.0, trees.size());
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program("relation_tree", [&] {
    const bool explains = argc == 2 && std::strcmp(argv[1], "--explain") == 0;
    if (argc > 1 && !explains) throw UsageError("usage: relation_tree [--explain]");
    run(explains);
    return 0;
  });
}
