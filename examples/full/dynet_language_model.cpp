// A language model, written as programs for DyNet are: only the headers are this library's.
//
//   dynet_language_model [--dynet-seed N] [TEXT]
//
// Learns the characters of a text, without its last tenth, which is for testing. Without a file it
// learns lists of numbers that count up, in a few seconds, and then writes some. The best model is
// saved as dynet_language_model.model.
#include <dynet/dict.h>
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/init.h>
#include <dynet/io.h>
#include <dynet/lstm.h>
#include <dynet/model.h>
#include <dynet/training.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std;
using namespace dynet;

const unsigned LAYERS = 2;
const unsigned INPUT_DIM = 16;
const unsigned HIDDEN_DIM = 64;
const unsigned LENGTH = 48;  // of a piece
const unsigned BATCH_SIZE = 16;
const unsigned EPOCHS = 15;

struct RNNLanguageModel {
  LookupParameter p_c;
  Parameter p_R, p_bias;
  VanillaLSTMBuilder rnn;

  RNNLanguageModel(ParameterCollection& model, unsigned characters)
      : p_c(model.add_lookup_parameters(characters, {INPUT_DIM})),
        p_R(model.add_parameters({characters, HIDDEN_DIM})),
        p_bias(model.add_parameters({characters})),
        rnn(LAYERS, INPUT_DIM, HIDDEN_DIM, model) {}

  Expression scores(int character, ComputationGraph& cg) {
    Expression h = rnn.add_input(lookup(cg, p_c, static_cast<unsigned>(character)));
    return affine_transform({parameter(cg, p_bias), parameter(cg, p_R), h});
  }

  // The losses of the characters from first + 1 to last, each given those before it.
  Expression loss(const vector<int>& text, size_t first, size_t last, ComputationGraph& cg) {
    rnn.start_new_sequence();
    vector<Expression> errors;
    for (size_t i = first; i + 1 < last; ++i) {
      errors.push_back(pickneglogsoftmax(scores(text[i], cg), static_cast<unsigned>(text[i + 1])));
    }
    return sum(errors);
  }

  string sample(int character, unsigned length, const Dict& dict) {
    ComputationGraph cg;
    rnn.new_graph(cg);
    rnn.start_new_sequence();
    string result;
    for (unsigned i = 0; i < length; ++i) {
      const vector<float> p = as_vector(cg.incremental_forward(softmax(scores(character, cg))));
      character = discrete_distribution<int>(p.begin(), p.end())(*rndeng);
      result += dict.convert(character);
    }
    return result;
  }
};

string make_text() {
  mt19937 random(1);
  ostringstream text;
  for (unsigned list = 0; list < 1500; ++list) {
    unsigned number = random() % 90;
    for (unsigned i = 0; i < 4; ++i) text << number++ << (i < 3 ? ' ' : '\n');
  }
  return text.str();
}

string read_text(const string& path) {
  ifstream in(path);
  if (!in) throw runtime_error("cannot read " + path);
  ostringstream text;
  text << in.rdbuf();
  return text.str();
}

double nats_per_character(RNNLanguageModel& lm, const vector<int>& text) {
  double total = 0, count = 0;
  for (size_t first = 0; first + 2 < text.size(); first += BATCH_SIZE * LENGTH) {
    ComputationGraph cg;
    lm.rnn.new_graph(cg, false);
    vector<Expression> losses;
    for (size_t i = first; i + 2 < text.size() && i < first + BATCH_SIZE * LENGTH; i += LENGTH) {
      const size_t last = min(i + LENGTH + 1, text.size());
      losses.push_back(lm.loss(text, i, last, cg));
      count += static_cast<double>(last - i - 1);
    }
    total += as_scalar(cg.forward(sum(losses)));
  }
  return total / count;
}

int run(int argc, char** argv) {
  dynet::initialize(argc, argv);
  const bool help = argc == 2 && argv[1] == string("--help");
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    (help ? cout : cerr) << "usage: " << argv[0] << " [--dynet-seed N] [TEXT]\n";
    return help ? 0 : 2;
  }
  Dict dict;
  vector<int> train, dev;
  const string text = argc == 2 ? read_text(argv[1]) : make_text();
  for (const char c : text) train.push_back(dict.convert(string(1, c)));
  dict.freeze();
  const auto held_out = train.begin() + static_cast<ptrdiff_t>(train.size() / 10 * 9);
  dev.assign(held_out, train.end());
  train.erase(held_out, train.end());
  if (dev.size() < 3) throw runtime_error("need a longer text");

  ParameterCollection model;
  RNNLanguageModel lm(model, dict.size());
  AdamTrainer trainer(model, 0.005f);
  double best = 1e9;
  for (unsigned epoch = 1; epoch <= EPOCHS; ++epoch) {
    const size_t offset = rand0n(static_cast<int>(LENGTH));
    for (size_t first = offset; first + 2 < train.size(); first += BATCH_SIZE * LENGTH) {
      ComputationGraph cg;
      lm.rnn.new_graph(cg);
      vector<Expression> losses;
      for (size_t i = first; i + 2 < train.size() && i < first + BATCH_SIZE * LENGTH; i += LENGTH) {
        losses.push_back(lm.loss(train, i, min(i + LENGTH + 1, train.size()), cg));
      }
      Expression loss = sum(losses) / static_cast<float>(BATCH_SIZE);
      cg.forward(loss);
      cg.backward(loss);
      trainer.update();
    }
    const double nats = nats_per_character(lm, dev);
    cout << "epoch " << epoch << ": " << nats << " nats per character of the held-out text" << endl;
    if (nats > best) continue;
    best = nats;
    TextFileSaver saver("dynet_language_model.model");
    saver.save(model);
  }
  TextFileLoader loader("dynet_language_model.model");
  loader.populate(model);
  cout << lm.sample(dict.convert("\n"), 60, dict) << endl;
  return 0;
}

int main(int argc, char** argv) {
  try {
    const int status = run(argc, argv);
    if (!cout.flush()) throw runtime_error("cannot write the output");
    return status;
  } catch (const exception& error) {
    cerr << "dynet_language_model: " << error.what() << '\n';
    return 1;
  }
}
