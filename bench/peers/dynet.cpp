// A program for DyNet, which is compiled with DyNet's headers and with ours, by bench/peers/run.py.
// usage: dynet MODEL HIDDEN BATCH train|run SECONDS
//   tree    a binary Tree-LSTM, gate by gate
//   tagger  a BiLSTM tagger of DyNet's builders
//   gates   the same, gate by gate
// Prints samples per second of processor time, and the last loss.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/lstm.h>
#include <dynet/training.h>

#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace dynet;
using std::size_t;
using std::string;
using std::vector;

namespace {

constexpr unsigned kWords = 1000, kClasses = 5, kTags = 20, kSamples = 64;

double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Vertex {
  int left = -1, right = -1;  // both -1: a leaf
  unsigned word = 0, label = 0;
};
using BinaryTree = vector<Vertex>;  // children first

int add_tree(BinaryTree& tree, unsigned leaves, std::mt19937& random) {
  Vertex vertex;
  vertex.label = static_cast<unsigned>(random() % kClasses);
  if (leaves == 1) {
    vertex.word = static_cast<unsigned>(random() % kWords);
  } else {
    const auto left = static_cast<unsigned>(1 + random() % (leaves - 1));
    vertex.left = add_tree(tree, left, random);
    vertex.right = add_tree(tree, leaves - left, random);
  }
  tree.push_back(vertex);
  return static_cast<int>(tree.size()) - 1;
}

/// Parameters enter a graph once, for all samples of a minibatch.
class Network {
 public:
  virtual ~Network() = default;
  virtual void begin(ComputationGraph& graph) = 0;
  virtual Expression loss(ComputationGraph& graph, unsigned sample) = 0;
};

// Tai et al. 2015: binary, with a forget gate for each child, gate by gate.
class TreeModel : public Network {
 public:
  TreeModel(ParameterCollection& model, unsigned hidden, std::mt19937& random)
      : trees_(kSamples),
        words_(model.add_lookup_parameters(kWords, {hidden})),
        output_(model.add_parameters({kClasses, hidden})),
        output_bias_(model.add_parameters({kClasses})) {
    for (Gate& gate : gates_) {
      gate.bias = model.add_parameters({hidden});
      for (Parameter* weights : {&gate.x, &gate.left, &gate.right}) {
        *weights = model.add_parameters({hidden, hidden});
      }
    }
    for (BinaryTree& tree : trees_) {
      add_tree(tree, static_cast<unsigned>(10 + random() % 16), random);
    }
  }

  void begin(ComputationGraph& graph) override {
    for (Gate& gate : gates_) {
      gate.in_graph.clear();
      for (const Parameter& each : {gate.bias, gate.x, gate.left, gate.right}) {
        gate.in_graph.push_back(parameter(graph, each));
      }
    }
    output_in_graph_ = parameter(graph, output_);
    bias_in_graph_ = parameter(graph, output_bias_);
  }
  Expression loss(ComputationGraph& graph, unsigned sample) override {
    vector<Expression> h, c, losses;
    for (const Vertex& vertex : trees_[sample]) {
      const bool is_leaf = vertex.left < 0;
      const auto gate = [&](const Gate& of) {
        const vector<Expression>& p = of.in_graph;
        if (is_leaf) return affine_transform({p[0], p[1], lookup(graph, words_, vertex.word)});
        return affine_transform({p[0], p[2], h[vertex.left], p[3], h[vertex.right]});
      };
      Expression cell = cmult(logistic(gate(gates_[0])), tanh(gate(gates_[1])));
      if (!is_leaf) {
        cell = cell + cmult(logistic(gate(gates_[2])), c[vertex.left]) +
               cmult(logistic(gate(gates_[3])), c[vertex.right]);
      }
      c.push_back(cell);
      h.push_back(cmult(logistic(gate(gates_[4])), tanh(cell)));
      const Expression scores = affine_transform({bias_in_graph_, output_in_graph_, h.back()});
      losses.push_back(pickneglogsoftmax(scores, vertex.label));
    }
    return sum(losses);
  }

 private:
  struct Gate {
    Parameter bias, x, left, right;
    vector<Expression> in_graph;
  };
  vector<BinaryTree> trees_;
  LookupParameter words_;
  Gate gates_[5];  // input, candidate, forget left, forget right, output
  Parameter output_, output_bias_;
  Expression output_in_graph_, bias_in_graph_;
};

// Reads sequences with an LSTM, gate by gate.
class GateByGate {
 public:
  GateByGate(unsigned, unsigned inputs, unsigned hidden, ParameterCollection& model)
      : hidden_(hidden) {
    for (Gate& gate : gates_) {
      gate.bias = model.add_parameters({hidden});
      gate.x = model.add_parameters({hidden, inputs});
      gate.h = model.add_parameters({hidden, hidden});
    }
  }

  void new_graph(ComputationGraph& graph) {
    graph_ = &graph;
    for (Gate& gate : gates_) {
      gate.in_graph.clear();
      for (const Parameter& each : {gate.bias, gate.x, gate.h}) {
        gate.in_graph.push_back(parameter(graph, each));
      }
    }
  }
  void start_new_sequence() { h_ = c_ = zeros(*graph_, {hidden_}); }
  Expression add_input(const Expression& x) {
    const auto gate = [&](unsigned i) {
      const vector<Expression>& p = gates_[i].in_graph;
      return affine_transform({p[0], p[1], x, p[2], h_});
    };
    c_ = cmult(logistic(gate(0)), tanh(gate(1))) + cmult(logistic(gate(2)), c_);
    return h_ = cmult(logistic(gate(3)), tanh(c_));
  }

 private:
  struct Gate {
    Parameter bias, x, h;
    vector<Expression> in_graph;
  };
  ComputationGraph* graph_ = nullptr;
  unsigned hidden_;
  Gate gates_[4];  // input, candidate, forget, output
  Expression h_, c_;
};

// Two LSTMs that read a sequence from both ends.
template <class LSTM>
class BiLSTM {
 public:
  BiLSTM(unsigned inputs, unsigned hidden, ParameterCollection& model)
      : forward_(1, inputs, hidden, model), backward_(1, inputs, hidden, model) {}

  void new_graph(ComputationGraph& graph) {
    forward_.new_graph(graph);
    backward_.new_graph(graph);
  }
  // The outputs for each element, from the left and from the right.
  std::pair<vector<Expression>, vector<Expression>> read(const vector<Expression>& x) {
    forward_.start_new_sequence();
    backward_.start_new_sequence();
    vector<Expression> left, right(x.size());
    for (const Expression& each : x) left.push_back(forward_.add_input(each));
    for (size_t i = x.size(); i-- > 0;) right[i] = backward_.add_input(x[i]);
    return {left, right};
  }

 private:
  LSTM forward_, backward_;
};

template <class LSTM>
class TaggerModel : public Network {
 public:
  TaggerModel(ParameterCollection& model, unsigned hidden, std::mt19937& random)
      : sentences_(kSamples),
        words_(model.add_lookup_parameters(kWords, {hidden})),
        lstm_(hidden, hidden, model),
        output_(model.add_parameters({kTags, 2 * hidden})),
        bias_(model.add_parameters({kTags})) {
    for (vector<unsigned>& sentence : sentences_) {
      sentence.resize(10 + random() % 21);
      for (unsigned& word : sentence) word = static_cast<unsigned>(random() % kWords);
    }
  }

  void begin(ComputationGraph& graph) override {
    lstm_.new_graph(graph);
    output_in_graph_ = parameter(graph, output_);
    bias_in_graph_ = parameter(graph, bias_);
  }
  Expression loss(ComputationGraph& graph, unsigned sample) override {
    const vector<unsigned>& sentence = sentences_[sample];
    vector<Expression> x, losses;
    for (const unsigned word : sentence) x.push_back(lookup(graph, words_, word));
    const auto [left, right] = lstm_.read(x);
    for (size_t i = 0; i < sentence.size(); ++i) {
      const Expression scores =
          affine_transform({bias_in_graph_, output_in_graph_, concatenate({left[i], right[i]})});
      losses.push_back(pickneglogsoftmax(scores, sentence[i] % kTags));
    }
    return sum(losses);
  }

 private:
  vector<vector<unsigned>> sentences_;
  LookupParameter words_;
  BiLSTM<LSTM> lstm_;
  Parameter output_, bias_;
  Expression output_in_graph_, bias_in_graph_;
};

template <class Model>
std::unique_ptr<Network> make(ParameterCollection& model, unsigned hidden, std::mt19937& random) {
  return std::make_unique<Model>(model, hidden, random);
}

}  // namespace

int main(int argc, char** argv) {
  dynet::initialize(argc, argv);
  const std::map<string, decltype(&make<TreeModel>)> makers = {
      {"tree", make<TreeModel>},
      {"tagger", make<TaggerModel<VanillaLSTMBuilder>>},
      {"gates", make<TaggerModel<GateByGate>>}};
  if (argc != 6 || makers.count(argv[1]) == 0) {
    std::fputs("usage: dynet tree|tagger|gates HIDDEN BATCH train|run SECONDS\n", stderr);
    return 1;
  }
  const unsigned hidden = static_cast<unsigned>(std::stoul(argv[2]));
  const unsigned batch = static_cast<unsigned>(std::stoul(argv[3]));
  if (hidden < 2 || hidden > 4096 || batch == 0 || kSamples % batch != 0) {
    std::fprintf(stderr, "need HIDDEN from 2 to 4096, and BATCH that divides %u; got %s and %s\n",
                 kSamples, argv[2], argv[3]);
    return 1;
  }
  const bool trains = string(argv[4]) == "train";
  const double seconds = std::stod(argv[5]);
  ParameterCollection model;
  SimpleSGDTrainer trainer(model, 0.001f);
  trainer.clipping_enabled = false;
  std::mt19937 random(1);
  const std::unique_ptr<Network> network = makers.at(argv[1])(model, hidden, random);
  double begin = processor_seconds();
  float last_loss = 0;
  unsigned samples = 0;
  for (unsigned round = 0; round < 3 || processor_seconds() - begin < seconds; ++round) {
    if (round == 2) {  // after warming up
      begin = processor_seconds();
      samples = 0;
    }
    for (unsigned i = 0; i < kSamples; i += batch, samples += batch) {
      ComputationGraph graph;
      network->begin(graph);
      vector<Expression> losses;
      for (unsigned k = i; k < i + batch; ++k) losses.push_back(network->loss(graph, k));
      const Expression loss = losses.size() == 1 ? losses[0] : sum(losses);
      last_loss = as_scalar(graph.forward(loss));
      if (!trains) continue;
      graph.backward(loss);
      trainer.update();
    }
  }
  std::printf("%.1f %.4f\n", samples / (processor_seconds() - begin),
              static_cast<double>(last_loss));
}
