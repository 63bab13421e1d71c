// A tagger, written as programs for DyNet are: only the headers are this library's.
//
//   dynet_tagger [--dynet-seed N] [TRAIN DEV]
//
// The files have a word and a tag per line, separated by a tab, and an empty line after every
// sentence. Without files it learns an artificial language, in a few seconds: a word's ending tells
// its tag, but a word after "to" is a verb. The best model is saved as dynet_tagger.model.
#include <dynet/dict.h>
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/init.h>
#include <dynet/io.h>
#include <dynet/lstm.h>
#include <dynet/model.h>
#include <dynet/training.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std;
using namespace dynet;

const unsigned LAYERS = 1;
const unsigned INPUT_DIM = 64;
const unsigned HIDDEN_DIM = 64;
const unsigned BATCH_SIZE = 16;
const unsigned EPOCHS = 5;
const float WORD_DROPOUT = 0.05f;  // so that the vector of unknown words is trained

struct Sentence {
  vector<int> words, tags;
};

struct BiLSTMTagger {
  LookupParameter p_w;
  Parameter p_W, p_b;
  LSTMBuilder l2r, r2l;

  BiLSTMTagger(ParameterCollection& model, unsigned words, unsigned tags)
      : p_w(model.add_lookup_parameters(words, {INPUT_DIM})),
        p_W(model.add_parameters({tags, 2 * HIDDEN_DIM})),
        p_b(model.add_parameters({tags}, ParameterInitConst(0))),
        l2r(LAYERS, INPUT_DIM, HIDDEN_DIM, model),
        r2l(LAYERS, INPUT_DIM, HIDDEN_DIM, model) {}

  void new_graph(ComputationGraph& cg) {
    l2r.new_graph(cg);
    r2l.new_graph(cg);
  }

  vector<Expression> scores(const vector<int>& words, ComputationGraph& cg) {
    l2r.start_new_sequence();
    r2l.start_new_sequence();
    const unsigned n = words.size();
    vector<Expression> x(n), left(n), right(n), result(n);
    for (unsigned i = 0; i < n; ++i) x[i] = lookup(cg, p_w, words[i]);
    for (unsigned i = 0; i < n; ++i) left[i] = l2r.add_input(x[i]);
    for (unsigned i = n; i-- > 0;) right[i] = r2l.add_input(x[i]);
    Expression W = parameter(cg, p_W), b = parameter(cg, p_b);
    for (unsigned i = 0; i < n; ++i) {
      result[i] = affine_transform({b, W, concatenate({left[i], right[i]})});
    }
    return result;
  }

  Expression loss(const Sentence& sentence, ComputationGraph& cg) {
    vector<Expression> s = scores(sentence.words, cg), losses;
    for (unsigned i = 0; i < s.size(); ++i) {
      losses.push_back(pickneglogsoftmax(s[i], sentence.tags[i]));
    }
    return sum(losses);
  }
};

vector<Sentence> read_file(const string& path, Dict& words, Dict& tags) {
  ifstream in(path);
  if (!in) throw runtime_error("cannot read " + path);
  vector<Sentence> sentences;
  Sentence sentence;
  string line;
  for (bool more = true; more;) {
    more = static_cast<bool>(getline(in, line));
    const size_t tab = line.find('\t');
    if (more && tab != string::npos && tab > 0 && tab + 1 < line.size()) {
      sentence.words.push_back(words.convert(line.substr(0, tab)));
      sentence.tags.push_back(tags.convert(line.substr(tab + 1)));
    } else if (!sentence.words.empty()) {
      sentences.push_back(sentence);
      sentence = Sentence();
    }
    line.clear();
  }
  return sentences;
}

vector<Sentence> make_sentences(unsigned count, mt19937& random, Dict& words, Dict& tags) {
  const vector<string> endings = {"ness", "ish", "ly", "ize"}, names = {"N", "A", "R", "V"};
  vector<Sentence> sentences(count);
  for (Sentence& sentence : sentences) {
    bool after_to = false;
    for (unsigned length = 4 + random() % 12; length > 0; --length) {
      const bool is_to = !after_to && random() % 6 == 0;
      const unsigned kind = random() % 4;
      const string stem = "w" + to_string(random() % 200);
      sentence.words.push_back(words.convert(is_to ? "to" : stem + endings[kind]));
      sentence.tags.push_back(tags.convert(is_to ? "TO" : after_to ? "V" : names[kind]));
      after_to = is_to;
    }
  }
  return sentences;
}

double accuracy(BiLSTMTagger& tagger, const vector<Sentence>& sentences) {
  double right = 0, all = 0;
  for (size_t first = 0; first < sentences.size(); first += BATCH_SIZE) {
    ComputationGraph cg;
    tagger.new_graph(cg);
    const size_t last = min(first + BATCH_SIZE, sentences.size());
    vector<vector<Expression>> scores;
    for (size_t i = first; i < last; ++i) scores.push_back(tagger.scores(sentences[i].words, cg));
    for (size_t i = first; i < last; ++i) {
      for (size_t j = 0; j < sentences[i].tags.size(); ++j) {
        const vector<float> s = as_vector(cg.incremental_forward(scores[i - first][j]));
        right += max_element(s.begin(), s.end()) - s.begin() == sentences[i].tags[j];
        ++all;
      }
    }
  }
  return right / all;
}

int run(int argc, char** argv) {
  dynet::initialize(argc, argv);
  const bool help = argc == 2 && argv[1] == string("--help");
  if (argc != 1 && argc != 3) {
    (help ? cout : cerr) << "usage: " << argv[0] << " [--dynet-seed N] [TRAIN DEV]\n";
    return help ? 0 : 2;
  }
  Dict words, tags;
  vector<Sentence> train, dev;
  mt19937 random(1);
  if (argc == 3) {
    train = read_file(argv[1], words, tags);
  } else {
    train = make_sentences(2000, random, words, tags);
  }
  words.freeze();
  words.set_unk("<unk>");
  tags.freeze();
  dev = argc == 3 ? read_file(argv[2], words, tags) : make_sentences(200, random, words, tags);
  if (train.empty() || dev.empty()) throw runtime_error("there are no sentences");

  ParameterCollection model;
  AdamTrainer trainer(model);
  BiLSTMTagger tagger(model, words.size(), tags.size());
  vector<unsigned> order(train.size());
  iota(order.begin(), order.end(), 0);
  double best = 0;
  for (unsigned epoch = 1; epoch <= EPOCHS; ++epoch) {
    shuffle(order.begin(), order.end(), *rndeng);
    double total = 0, count = 0;
    for (size_t first = 0; first < order.size(); first += BATCH_SIZE) {
      ComputationGraph cg;
      tagger.new_graph(cg);
      vector<Expression> losses;
      for (size_t i = first; i < min(first + BATCH_SIZE, order.size()); ++i) {
        Sentence sentence = train[order[i]];
        for (int& word : sentence.words) {
          if (rand01() < WORD_DROPOUT) word = words.get_unk_id();
        }
        count += sentence.words.size();
        losses.push_back(tagger.loss(sentence, cg));
      }
      Expression loss = sum(losses);
      total += as_scalar(cg.forward(loss));
      cg.backward(loss);
      trainer.update();
    }
    const double dev_accuracy = accuracy(tagger, dev);
    trainer.status();
    cerr << "epoch " << epoch << ": loss " << total / count << '\n';
    cout << "epoch " << epoch << ": dev accuracy " << 100 * dev_accuracy << " %" << endl;
    if (dev_accuracy > best) {
      best = dev_accuracy;
      TextFileSaver saver("dynet_tagger.model");
      saver.save(model);
    }
  }
  TextFileLoader loader("dynet_tagger.model");
  loader.populate(model);
  cout << "best model: " << 100 * accuracy(tagger, dev) << " % of " << dev.size() << " sentences"
       << endl;
  return 0;
}

int main(int argc, char** argv) {
  try {
    const int status = run(argc, argv);
    if (!cout.flush()) throw runtime_error("cannot write the output");
    return status;
  } catch (const exception& error) {
    cerr << "dynet_tagger: " << error.what() << '\n';
    return 1;
  }
}
