// The models of run.py in libtorch, PyTorch's library for C++: trees level by level with gradients
// by hand, sentences by its packed LSTM.
//
// usage: libtorch DATA MODEL WEIGHTS THREADS
// Prints its first loss, and by how much it falls in some updates. Then reads lines
// "BATCH train|infer SECONDS" and answers each with instances of mean length per second, on the
// clock and of processor time.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {

using torch::Tensor;
using Weights = std::map<std::string, Tensor>;
using Indices = std::vector<std::int64_t>;

constexpr double kRate = 0.01;  // per instance of a minibatch, as in bench/throughput
constexpr std::size_t kFirst = 64;
constexpr int kUpdates = 4;

Tensor to_tensor(const Indices& indices) { return torch::tensor(indices, torch::kLong); }

/// The tensors of a safetensors file of float32.
Weights read_weights(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t size = 0;
  file.read(reinterpret_cast<char*>(&size), sizeof size);
  std::string header(size, ' ');
  file.read(header.data(), static_cast<std::streamsize>(size));
  Weights weights;
  const auto entries = nlohmann::json::parse(header);
  for (const auto& [name, entry] : entries.items()) {
    if (name == "__metadata__") continue;
    Tensor tensor = torch::empty(entry["shape"].get<Indices>());
    file.seekg(
        static_cast<std::streamoff>(8 + size + entry["data_offsets"][0].get<std::uint64_t>()));
    file.read(static_cast<char*>(tensor.data_ptr()), tensor.numel() * 4);
    weights[name.substr(1)] = tensor;
  }
  return weights;
}

/// The same gates in another order.
Tensor reorder(const Tensor& weight, const std::string& rows, const std::string& wanted) {
  const std::vector<Tensor> gates = weight.chunk(static_cast<std::int64_t>(rows.size()));
  std::vector<Tensor> result;
  for (const char gate : wanted) result.push_back(gates[rows.find(gate)]);
  return torch::cat(result);
}

Tensor parameter(const Tensor& weight) { return weight.clone().set_requires_grad(true); }

/// A model: it computes the summed loss of some instances.
class Model {
 public:
  virtual ~Model() = default;
  virtual std::size_t instances() const = 0;
  virtual std::size_t words_of(std::size_t instance) const = 0;
  virtual Tensor loss(const std::vector<std::size_t>& minibatch) const = 0;

  double train(const std::vector<std::size_t>& minibatch, double rate) {
    const Tensor sum = loss(minibatch);
    sum.backward();
    const torch::NoGradGuard guard;
    for (Tensor* weight : all_) {
      weight->add_(weight->grad(), -rate);
      weight->mutable_grad().reset();
    }
    return sum.item<double>();
  }
  double infer(const std::vector<std::size_t>& minibatch) const {
    const c10::InferenceMode guard;
    return loss(minibatch).item<double>();
  }

 protected:
  explicit Model(const Weights& weights) : table_(parameter(weights.at("embedding/E"))) {
    all_ = {&table_};
  }
  Tensor embed(const Indices& words) const {
    return torch::embedding(table_, to_tensor(words), -1, false, /*sparse=*/true);
  }

  Tensor table_;
  std::vector<Tensor*> all_;
};

Tensor cross_entropy(const Tensor& scores, const Indices& labels) {
  return torch::nll_loss(torch::log_softmax(scores, 1), to_tensor(labels), {}, at::Reduction::Sum);
}

struct Tree {
  Indices label, word, left, right, height;  // by node, children first
};

/// The nodes of a minibatch by height, leaves first; level l ends before node ends[l].
struct Levels {
  Indices ends, words, labels;
  Tensor children;  // of inner nodes, left and right

  Levels(const std::vector<Tree>& trees, const std::vector<std::size_t>& minibatch) {
    std::vector<std::pair<std::size_t, std::size_t>> nodes;  // tree and node
    std::vector<Indices> place(minibatch.size());
    const auto height_of = [&](const auto& at) {
      return trees[minibatch[at.first]].height[at.second];
    };
    for (std::size_t t = 0; t < minibatch.size(); ++t) {
      const std::size_t size = trees[minibatch[t]].label.size();
      place[t].resize(size);
      for (std::size_t n = 0; n < size; ++n) nodes.emplace_back(t, n);
    }
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](const auto& a, const auto& b) { return height_of(a) < height_of(b); });
    Indices pairs;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto [t, n] = nodes[i];
      const Tree& tree = trees[minibatch[t]];
      place[t][n] = static_cast<std::int64_t>(i);
      labels.push_back(tree.label[n]);
      if (i == 0 || height_of(nodes[i]) != height_of(nodes[i - 1])) ends.push_back(0);
      ends.back() = static_cast<std::int64_t>(i) + 1;
      if (tree.left[n] < 0) {
        words.push_back(tree.word[n]);
      } else {
        pairs.push_back(place[t][static_cast<std::size_t>(tree.left[n])]);
        pairs.push_back(place[t][static_cast<std::size_t>(tree.right[n])]);
      }
    }
    children = to_tensor(pairs);
  }
};

/// The outputs of all nodes. Gates are in the order l r i o u. States of all levels share blocks,
/// and every weight's gradient is one product.
class TreeLstm : public torch::autograd::Function<TreeLstm> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& words,
                        const Tensor& leaf, const Tensor& inner, const Tensor& bias,
                        const Levels* levels) {
    const std::int64_t leaves = levels->ends[0], nodes = levels->ends.back();
    const auto block = [&](std::int64_t rows, std::int64_t columns) {
      return torch::empty({rows, columns}, words.options());
    };
    const std::int64_t h_size = leaf.size(0) / 3;
    Tensor c = block(nodes, h_size), h = block(nodes, h_size), t = block(nodes, h_size);
    Tensor leaf_gates = torch::addmm(bias.narrow(0, 2 * h_size, 3 * h_size), words, leaf.t());
    finish(leaf_gates, {}, c.narrow(0, 0, leaves), t.narrow(0, 0, leaves), h.narrow(0, 0, leaves));
    Tensor gates = block(nodes - leaves, 5 * h_size), inputs = block(nodes - leaves, 2 * h_size);
    Tensor before = block(2 * (nodes - leaves), h_size);
    for (std::size_t l = 1; l < levels->ends.size(); ++l) {
      const std::int64_t begin = levels->ends[l - 1], n = levels->ends[l] - begin;
      const Tensor children = levels->children.narrow(0, 2 * (begin - leaves), 2 * n);
      Tensor x = inputs.narrow(0, begin - leaves, n), g = gates.narrow(0, begin - leaves, n);
      Tensor its_h = x.view({2 * n, h_size}), its_c = before.narrow(0, 2 * (begin - leaves), 2 * n);
      torch::index_select_out(its_h, h, 0, children);
      torch::index_select_out(its_c, c, 0, children);
      torch::addmm_out(g, bias, x, inner.t());
      finish(g, its_c.view({n, 2 * h_size}), c.narrow(0, begin, n), t.narrow(0, begin, n),
             h.narrow(0, begin, n));
    }
    context->saved_data["ends"] = levels->ends;
    context->save_for_backward(
        {words, leaf, inner, leaf_gates, gates, inputs, before, t, levels->children});
    return h;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &words = saved[0], &leaf = saved[1], &inner = saved[2], &leaf_gates = saved[3],
                 &gates = saved[4], &inputs = saved[5], &before = saved[6], &t = saved[7],
                 &children = saved[8];
    const Indices ends = context->saved_data["ends"].toIntVector();
    const std::int64_t size = leaf.size(0) / 3, leaves = ends[0];
    Tensor dh = gradients[0].clone(), dc = torch::zeros_like(dh);
    Tensor dgates = torch::empty_like(gates), dleaf = torch::empty_like(leaf_gates);
    for (std::size_t l = ends.size(); --l > 0;) {
      const std::int64_t begin = ends[l - 1], n = ends[l] - begin;
      const Tensor its = children.narrow(0, 2 * (begin - leaves), 2 * n);
      const Tensor g = gates.narrow(0, begin - leaves, n), dg = dgates.narrow(0, begin - leaves, n);
      const Tensor d_c =
          go_back(g, dg, dh.narrow(0, begin, n), dc.narrow(0, begin, n), t.narrow(0, begin, n), 2);
      const Tensor cells = before.narrow(0, 2 * (begin - leaves), 2 * n).view({n, 2, size});
      const Tensor f = g.narrow(1, 0, 2 * size).view({n, 2, size}), all = d_c.unsqueeze(1);
      dg.narrow(1, 0, 2 * size).copy_(torch::sigmoid_backward(all * cells, f).view({n, 2 * size}));
      dc.index_copy_(0, its, (all * f).view({2 * n, size}));
      dh.index_add_(0, its, torch::mm(dg, inner).view({2 * n, size}));
    }
    go_back(leaf_gates, dleaf, dh.narrow(0, 0, leaves), dc.narrow(0, 0, leaves),
            t.narrow(0, 0, leaves), 0);
    Tensor dbias = dgates.sum(0);
    dbias.narrow(0, 2 * size, 3 * size).add_(dleaf.sum(0));
    return {torch::mm(dleaf, leaf), torch::mm(dleaf.t(), words), torch::mm(dgates.t(), inputs),
            dbias, Tensor()};
  }

 private:
  /// Computes gates in place, and from them cells, their tanh, and outputs.
  static void finish(Tensor& gates, const Tensor& before, Tensor c, Tensor t, Tensor h) {
    const std::int64_t size = c.size(1), k = gates.size(1) / size - 3;
    const auto gate = [&](std::int64_t i) { return gates.narrow(1, i * size, size); };
    gates.narrow(1, 0, (k + 2) * size).sigmoid_();
    gate(k + 2).tanh_();
    torch::mul_out(c, gate(k), gate(k + 2));
    for (std::int64_t i = 0; i < k; ++i) c.addcmul_(gate(i), before.narrow(1, i * size, size));
    torch::tanh_out(t, c);
    torch::mul_out(h, gate(k + 1), t);
  }
  /// Writes the gradients of the last three gates; returns that of cells.
  static Tensor go_back(const Tensor& gates, const Tensor& dgates, const Tensor& dh,
                        const Tensor& dc, const Tensor& t, std::int64_t k) {
    const std::int64_t size = t.size(1);
    const auto part = [&](const Tensor& of, std::int64_t i) {
      return of.narrow(1, i * size, size);
    };
    const Tensor i = part(gates, k), o = part(gates, k + 1), u = part(gates, k + 2);
    const Tensor d_c = torch::tanh_backward(dh * o, t).add_(dc);
    part(dgates, k).copy_(torch::sigmoid_backward(d_c * u, i));
    part(dgates, k + 1).copy_(torch::sigmoid_backward(dh * t, o));
    part(dgates, k + 2).copy_(torch::tanh_backward(d_c * i, u));
    return d_c;
  }
};

class TreeModel : public Model {
 public:
  TreeModel(const Weights& weights, std::istream& data) : Model(weights) {
    const std::string rows = "lriou";
    const auto get = [&](const char* name) { return weights.at(std::string("tree_lstm/") + name); };
    leaf_ = parameter(reorder(get("W"), "iou", "iou"));
    inner_ = parameter(torch::cat({get("U_left"), get("U_right")}, 1));
    bias_ = parameter(get("b"));
    output_ = parameter(weights.at("output/W"));
    output_bias_ = parameter(weights.at("output/b"));
    for (Tensor* weight : {&leaf_, &inner_, &bias_, &output_, &output_bias_})
      all_.push_back(weight);
    for (std::string line; std::getline(data, line);) trees_.push_back(read(line));
  }
  std::size_t instances() const override { return trees_.size(); }
  std::size_t words_of(std::size_t i) const override { return trees_[i].label.size(); }
  Tensor loss(const std::vector<std::size_t>& minibatch) const override {
    const Levels levels(trees_, minibatch);
    const Tensor h = TreeLstm::apply(embed(levels.words), leaf_, inner_, bias_, &levels);
    return cross_entropy(torch::addmm(output_bias_, h, output_.t()), levels.labels);
  }

 private:
  /// A node is label/word or label/left/right.
  static Tree read(const std::string& line) {
    Tree tree;
    std::istringstream entries(line);
    for (std::string entry; entries >> entry;) {
      std::replace(entry.begin(), entry.end(), '/', ' ');
      std::istringstream numbers(entry);
      std::int64_t label = 0, left = 0, right = -1;
      numbers >> label >> left >> right;
      const bool is_leaf = numbers.fail();
      const auto height = [&](std::int64_t v) { return tree.height[static_cast<std::size_t>(v)]; };
      tree.label.push_back(label);
      tree.word.push_back(is_leaf ? left : 0);
      tree.left.push_back(is_leaf ? -1 : left);
      tree.right.push_back(is_leaf ? -1 : right);
      tree.height.push_back(is_leaf ? 0 : 1 + std::max(height(left), height(right)));
    }
    return tree;
  }

  std::vector<Tree> trees_;
  Tensor leaf_, inner_, bias_, output_, output_bias_;
};

/// A tagger with an LSTM in both directions, or a language model with one.
class SequenceModel : public Model {
 public:
  SequenceModel(const Weights& weights, std::istream& data) : Model(weights) {
    const bool is_tagger = weights.count("lstm/U") == 0;
    for (const char* name : {"lstm", "forward", "backward"}) {
      if (weights.count(std::string(name) + "/U") == 0) continue;
      const auto get = [&](const char* kind) {
        const Tensor weight = weights.at(std::string(name) + "/" + kind);
        lstm_.push_back(parameter(reorder(weight, "fiou", "ifuo")));
      };
      get("W");
      get("U");
      get("b");
      lstm_.push_back(torch::zeros_like(lstm_.back()).set_requires_grad(false));  // a second bias
    }
    for (const char* name : {"hidden/W", "hidden/b", "output/W", "output/b"}) {
      if (weights.count(name) != 0) layers_.push_back(parameter(weights.at(name)));
    }
    for (Tensor& weight : lstm_) {
      if (weight.requires_grad()) all_.push_back(&weight);
    }
    for (Tensor& weight : layers_) all_.push_back(&weight);
    for (std::string line; std::getline(data, line);) read(line, is_tagger);
  }
  std::size_t instances() const override { return sentences_.size(); }
  std::size_t words_of(std::size_t i) const override { return sentences_[i].words.size(); }
  Tensor loss(const std::vector<std::size_t>& minibatch) const override {
    std::vector<std::size_t> order = minibatch;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return words_of(a) > words_of(b); });
    Indices words, labels, sizes;
    for (std::size_t step = 0; step < words_of(order[0]); ++step) {
      std::size_t n = 0;
      for (; n < order.size() && step < words_of(order[n]); ++n) {
        words.push_back(sentences_[order[n]].words[step]);
        labels.push_back(sentences_[order[n]].labels[step]);
      }
      sizes.push_back(static_cast<std::int64_t>(n));
    }
    const auto ways = static_cast<std::int64_t>(lstm_.size() / 4);
    const Tensor zero =
        torch::zeros({ways, static_cast<std::int64_t>(order.size()), lstm_[1].size(1)});
    const bool trains = torch::GradMode::is_enabled();
    Tensor x = std::get<0>(torch::lstm(embed(words), to_tensor(sizes), {zero, zero}, lstm_, true, 1,
                                       0.0, trains, ways == 2));
    if (layers_.size() == 4) x = torch::addmm(layers_[1], x, layers_[0].t()).tanh();
    return cross_entropy(torch::addmm(layers_.back(), x, layers_[layers_.size() - 2].t()), labels);
  }

 private:
  struct Sentence {
    Indices words, labels;
  };

  void read(const std::string& line, bool is_tagger) {
    std::istringstream entries(line);
    Sentence& sentence = sentences_.emplace_back();
    for (std::string entry; entries >> entry;) {
      sentence.words.push_back(std::stoll(entry));
      if (is_tagger) sentence.labels.push_back(std::stoll(entry.substr(entry.find('/') + 1)));
    }
    if (is_tagger) return;  // otherwise the labels are the next words
    sentence.labels.assign(sentence.words.begin() + 1, sentence.words.end());
    sentence.words.pop_back();
  }

  std::vector<Sentence> sentences_;
  std::vector<Tensor> lstm_, layers_;
};

class Measurement {
 public:
  Measurement(Model& model, std::size_t batch, bool trains)
      : model_(model), batch_(batch), trains_(trains) {}

  /// Prints rates on the clock and of processor time.
  void run(double limit) {
    for (int i = 0; i < 3; ++i) step();
    words_ = 0;
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t processor = std::clock();
    std::chrono::duration<double> seconds{};
    while (seconds.count() < limit || words_ == 0) {
      step();
      seconds = std::chrono::steady_clock::now() - begin;
    }
    double all = 0;
    for (std::size_t i = 0; i < model_.instances(); ++i) all += double(model_.words_of(i));
    const double done = double(words_) * double(model_.instances()) / all;
    std::cout << done / seconds.count() << ' '
              << done * CLOCKS_PER_SEC / double(std::clock() - processor) << std::endl;
  }

 private:
  void step() {
    std::vector<std::size_t> minibatch(batch_);
    for (std::size_t& i : minibatch) {
      i = next_++ % model_.instances();
      words_ += model_.words_of(i);
    }
    trains_ ? model_.train(minibatch, kRate / double(batch_)) : model_.infer(minibatch);
  }

  Model& model_;
  std::size_t batch_, next_ = 0, words_ = 0;
  bool trains_;
};

}  // namespace

int main(int, char** argv) {
  std::ifstream data(argv[1]);
  const Weights weights = read_weights(argv[3]);
  at::set_num_threads(std::stoi(argv[4]));
  at::globalContext().setFlushDenormal(true);
  std::unique_ptr<Model> model;
  if (argv[2] == std::string("tree_lstm")) {
    model = std::make_unique<TreeModel>(weights, data);
  } else {
    model = std::make_unique<SequenceModel>(weights, data);
  }
  std::vector<std::size_t> first(kFirst);
  std::iota(first.begin(), first.end(), std::size_t{0});
  const double loss = model->infer(first) / kFirst;
  for (int i = 0; i < kUpdates; ++i) model->train(first, kRate / kFirst);
  std::cout.precision(12);
  std::cout << loss << ' ' << loss - model->infer(first) / kFirst << std::endl;
  std::string mode;
  double seconds = 0;
  for (std::size_t batch = 0; std::cin >> batch >> mode >> seconds;) {
    Measurement(*model, batch, mode == "train").run(seconds);
  }
}
