// Words and parts of speech of Japanese text, with a model that was trained with DyNet: that of the
// package nagisa on PyPI, as it was published. The network is written for DyNet, for one line;
// lines wait for each other when they ask for scores (docs/migration.md, "Programs that ask for
// values").
//
//   scripts/nagisa_model.sh      # downloads the model and lines of manual pages to build/nagisa
//   dynet_japanese_tagger build/nagisa < build/nagisa/manual_pages.txt
//
// Expected: the words and tags of nagisa 0.3.0, "word/tag" separated by spaces, for every line of
// the manual pages. scripts/nagisa_compare.py compares both and measures their speed. The only
// difference is the lower case of a capital sigma at the end of a Greek word.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/init.h>
#include <dynet/io.h>
#include <dynet/lstm.h>
#include <dynet/minibatch.h>

#include <array>
#include <ctime>

#include <fmt/format.h>

#include "dynet_like/core/text.h"
#include "examples/full/dynet_japanese_tagger/dictionary.h"
#include "examples/full/support/program.h"

using namespace std;
using namespace dynet;
using dynet_like::examples::Dictionary;

const unsigned UNI_DIM = 32, BI_DIM = 16, WORD_DIM = 16, TYPE_DIM = 8, TAG_DIM = 16, HIDDEN = 100;
const unsigned PAD = 1, NO_TYPE = 6, TYPES = 7, LONGEST_WORD = 8;
// The place of a character in its word: begin, middle, end, or the only one; and the ends of a
// line.
enum { BEGIN, MIDDLE, END, SINGLE, LINE_BEGIN, LINE_END, PLACES };

struct BiLSTM {
  LSTMBuilder fwd, bwd;

  BiLSTM(unsigned inputs, unsigned outputs, ParameterCollection model)
      : fwd(1, inputs, outputs / 2, model), bwd(1, inputs, outputs / 2, model) {}

  void new_graph(ComputationGraph& cg) {
    fwd.new_graph(cg, false);
    bwd.new_graph(cg, false);
  }
  vector<Expression> read(const vector<Expression>& x) {
    fwd.start_new_sequence();
    bwd.start_new_sequence();
    vector<Expression> left(x), right(x);
    for (size_t i = 0; i < x.size(); ++i) left[i] = fwd.add_input(x[i]);
    for (size_t i = x.size(); i-- > 0;) right[i] = bwd.add_input(x[i]);
    for (size_t i = 0; i < x.size(); ++i) left[i] = concatenate({left[i], right[i]});
    return left;
  }
  // The output for the last place only.
  Expression read_last(const vector<Expression>& x) {
    fwd.start_new_sequence();
    bwd.start_new_sequence();
    for (const Expression& input : x) fwd.add_input(input);
    return concatenate({fwd.back(), bwd.add_input(x.back())});
  }
};

// Adds parameters in the order of the published program.
struct Network {
  const Dictionary& dictionary;
  ParameterCollection model;
  LookupParameter p_uni, p_bi, p_word, p_type, p_tag;
  BiLSTM segmenter, tagger, speller;
  Parameter p_w_place, p_b_place;
  LookupParameter p_trans;
  Parameter p_w_tag, p_b_tag;

  explicit Network(const Dictionary& d)
      : dictionary(d),
        p_uni(model.add_lookup_parameters(unsigned(d.unigrams.size()), {UNI_DIM})),
        p_bi(model.add_lookup_parameters(unsigned(d.bigrams.size()), {BI_DIM})),
        p_word(model.add_lookup_parameters(unsigned(d.words.size()), {WORD_DIM})),
        p_type(model.add_lookup_parameters(TYPES, {TYPE_DIM})),
        p_tag(model.add_lookup_parameters(unsigned(d.tags.size()), {TAG_DIM})),
        segmenter(3 * (UNI_DIM + BI_DIM + TYPE_DIM) + 2 * WORD_DIM, HIDDEN,
                  model.add_subcollection("birnn")),
        tagger(WORD_DIM + UNI_DIM + TAG_DIM, HIDDEN, model.add_subcollection("birnn")),
        speller(UNI_DIM, UNI_DIM, model.add_subcollection("birnn")),
        p_w_place(model.add_parameters({PLACES, HIDDEN})),
        p_b_place(model.add_parameters({PLACES})),
        p_trans(model.add_lookup_parameters(PLACES, {PLACES})),
        p_w_tag(model.add_parameters({unsigned(d.tags.size()), HIDDEN})),
        p_b_tag(model.add_parameters({unsigned(d.tags.size())})) {}

  // The scores of the places in a word, for every character. Inputs are windows of three
  // characters, pairs and types, and the words of the dictionary that begin and end at the
  // character.
  vector<Expression> place_scores(ComputationGraph& cg, const u32string& text) const {
    const size_t n = text.size();
    const u32string_view all = text;
    vector<Expression> uni(n + 2, lookup(cg, p_uni, PAD)), bi(n + 2, lookup(cg, p_bi, PAD)),
        type(n + 2, lookup(cg, p_type, NO_TYPE)), x(n);
    for (size_t i = 0; i < n; ++i) {
      const u32string pair = i + 1 < n ? text.substr(i, 2) : text.substr(i) + U"<E>";
      uni[i + 1] = lookup(cg, p_uni, dictionary.unigrams[all.substr(i, 1)]);
      bi[i + 1] = lookup(cg, p_bi, dictionary.bigrams[pair]);
      type[i + 1] = lookup(cg, p_type, dynet_like::examples::character_type(text[i]));
    }
    vector<vector<Expression>> begin(n), end(n);
    for (size_t length = 1; length <= LONGEST_WORD; ++length) {
      for (size_t i = 0; i + length <= n; ++i) {
        const unsigned* const word = dictionary.words.find(all.substr(i, length));
        if (word == nullptr) continue;
        begin[i].push_back(lookup(cg, p_word, *word));
        end[i + length - 1].push_back(begin[i].back());
      }
    }
    const Expression none = lookup(cg, p_word, dictionary.words.unknown());
    for (size_t i = 0; i < n; ++i) {
      x[i] = concatenate({uni[i], uni[i + 1], uni[i + 2], bi[i], bi[i + 1], bi[i + 2], type[i],
                          type[i + 1], type[i + 2], begin[i].empty() ? none : sum(begin[i]),
                          end[i].empty() ? none : sum(end[i])});
    }
    return outputs(cg, segmenter, x, p_w_place, p_b_place);
  }

  // The scores of the tags of every word.
  vector<Expression> tag_scores(ComputationGraph& cg, const vector<u32string>& words) const {
    BiLSTM spelling = speller;
    spelling.new_graph(cg);
    vector<Expression> x;
    for (const u32string& word : words) {
      vector<Expression> letters, tags;
      for (char32_t c : word) {
        letters.push_back(lookup(cg, p_uni, dictionary.unigrams[u32string_view(&c, 1)]));
      }
      for (unsigned tag : dictionary.tags_of(word)) {
        tags.push_back(tag == 0 ? zeros(cg, {TAG_DIM}) : lookup(cg, p_tag, tag));
      }
      x.push_back(concatenate(
          {lookup(cg, p_word, dictionary.words[word]), spelling.read_last(letters), sum(tags)}));
    }
    return outputs(cg, tagger, x, p_w_tag, p_b_tag);
  }

 private:
  static vector<Expression> outputs(ComputationGraph& cg, BiLSTM lstm, const vector<Expression>& x,
                                    const Parameter& p_w, const Parameter& p_b) {
    lstm.new_graph(cg);
    vector<Expression> y = lstm.read(x);
    const Expression w = const_parameter(cg, p_w), b = const_parameter(cg, p_b);
    for (Expression& output : y) output = affine_transform({b, w, output});
    return y;
  }
};

typedef vector<vector<float>> Scores;

Scores compute(const vector<Expression>& scores) {
  Scores values;
  for (const auto& value : values_of(scores)) values.push_back(as_vector(value));
  return values;
}

// Viterbi's algorithm; trans[to][from].
vector<unsigned> best_places(const Scores& scores, const Scores& trans) {
  array<double, PLACES> best;
  best.fill(-1e10);
  best[LINE_BEGIN] = 0;
  vector<array<unsigned, PLACES>> before(scores.size());
  const auto best_before = [&](unsigned to) {
    unsigned chosen = 0;
    for (unsigned from = 1; from < PLACES; ++from) {
      if (best[from] + trans[to][from] > best[chosen] + trans[to][chosen]) chosen = from;
    }
    return chosen;
  };
  for (size_t i = 0; i < scores.size(); ++i) {
    array<double, PLACES> next;
    for (unsigned to = 0; to < PLACES; ++to) {
      before[i][to] = best_before(to);
      next[to] = best[before[i][to]] + trans[to][before[i][to]] + scores[i][to];
    }
    best = next;
  }
  vector<unsigned> places(scores.size());
  unsigned place = best_before(LINE_END);
  for (size_t i = scores.size(); i-- > 0; place = before[i][place]) places[i] = place;
  return places;
}

vector<u32string> words_of(const u32string& text, const vector<unsigned>& places) {
  vector<u32string> words;
  u32string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (places[i] == SINGLE) end_word();
    word += text[i];
    if (places[i] == SINGLE || places[i] == END) end_word();
  }
  end_word();
  return words;
}

struct Answer {
  vector<u32string> words;
  Scores of_places, of_tags;
};

Answer analyse(const Network& network, const Scores& trans, ComputationGraph& cg,
               const string& line) {
  Answer answer;
  const u32string text = network.dictionary.prepared(line);
  if (text.empty()) return answer;
  const u32string lower = network.dictionary.characters.lower(text);
  answer.of_places = compute(network.place_scores(cg, lower));
  answer.words = words_of(text, best_places(answer.of_places, trans));
  answer.of_tags = compute(network.tag_scores(cg, answer.words));
  return answer;
}

string words_and_tags(const Answer& answer, const Dictionary& dictionary) {
  string text;
  for (size_t i = 0; i < answer.words.size(); ++i) {
    const vector<float>& scores = answer.of_tags[i];
    const auto tag = max_element(scores.begin(), scores.end()) - scores.begin();
    text += (i > 0 ? " " : "") + dynet_like::examples::to_text(answer.words[i]) + '/' +
            dictionary.tags[size_t(tag)];
  }
  return text + '\n';
}

// A line for every character and every word, and an empty line.
string scores_of(const Answer& answer) {
  string text;
  for (const Scores& scores : {answer.of_places, answer.of_tags}) {
    for (const vector<float>& all : scores) text += fmt::format("{}\n", fmt::join(all, " "));
  }
  return text + '\n';
}

void check_utf8(const string& line, size_t number) {
  if (dynet_like::detail::is_utf8(line)) return;
  throw dynet_like::FileError(dynet_like::examples::kStandardInput,
                              "need UTF-8; got " + dynet_like::detail::quoted_text(line), number);
}

const char HELP[] =
    "usage: dynet_japanese_tagger FOLDER [--scores] [--time]\n"
    "Writes the words of every line of standard input with their parts of speech, \"word/tag\".\n"
    "  FOLDER    the output of scripts/nagisa_model.sh\n"
    "  --scores  writes the scores of places and tags instead: a line for every character, then "
    "for\n"
    "            every word, then an empty line\n"
    "  --time    prints the seconds of processor time that it took to standard error\n"
    "--dynet-autobatch and DyNet's other options work, too.\n";

int run(const vector<string>& arguments) {
  string folder;
  bool scores = false, time = false;
  for (const string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      cout << HELP;
      return 0;
    }
    if (argument == "--scores") {
      scores = true;
    } else if (argument == "--time") {
      time = true;
    } else if (folder.empty() && argument[0] != '-') {
      folder = argument;
    } else {
      throw dynet_like::UsageError("need a folder, --scores, --time or --help; got " + argument);
    }
  }
  if (folder.empty()) throw dynet_like::UsageError("need a folder; got none: see --help");

  const Dictionary dictionary(folder);
  Network network(dictionary);
  TextFileLoader(folder + "/nagisa.model").populate(network.model);
  Scores trans;
  for (const Tensor& row : *network.p_trans.values()) trans.push_back(as_vector(row));

  dynet_like::GraphOptions options;
  options.inference = true;
  Minibatch batch(options);
  size_t lines_read = 0;
  const clock_t start = clock();
  dynet_like::examples::answer_lines(cin, cout, 256, [&](auto lines, size_t number) {
    for (const string& line : lines) check_utf8(line, number++);
    batch.clear();
    lines_read += lines.size();
    const auto answers =
        for_each_sample(batch, lines, [&](ComputationGraph& cg, const string& line) {
          return analyse(network, trans, cg, line);
        });
    string text;
    for (const Answer& answer : answers) {
      text += scores ? scores_of(answer) : words_and_tags(answer, dictionary);
    }
    return text;
  });
  const double seconds = double(clock() - start) / CLOCKS_PER_SEC;
  if (time) cerr << lines_read << " lines in " << seconds << " s\n";
  return 0;
}

int main(int argc, char** argv) {
  return dynet_like::examples::run_program("dynet_japanese_tagger", [&] {
    initialize(argc, argv);
    return run({argv + 1, argv + argc});
  });
}
