// Batched prediction: results in order, whatever runs together; metrics, against numbers computed
// by hand and published ones.
#include <atomic>
#include <utility>

#include "dynet_like/core/errors.h"
#include "nn/evaluate/bleu.h"
#include "nn/evaluate/metrics.h"
#include "nn/evaluate/predict.h"
#include "nn/evaluate/span_scores.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TEST(AccuracyTest, OfAllPredictions) {
  struct Sample {
    int label;
    std::string name() const { return std::string(1, static_cast<char>('a' + label)); }
  };
  const std::vector<unsigned> found = {0, 1, 1, 2};
  const std::vector<Sample> gold = {{0}, {1}, {2}, {-1}};
  EXPECT_EQ(accuracy(found, std::vector<unsigned>{0, 1, 2, 2}), 0.75);
  EXPECT_EQ(accuracy(found, gold, &Sample::label), 0.5);
  EXPECT_EQ(accuracy(std::vector<std::string>{"a", "b", "b", "a"}, gold, &Sample::name), 0.5);
  EXPECT_EQ(accuracy(found, found, [](unsigned x) { return x + 1; }), 0);
  EXPECT_EQ(accuracy(std::vector<unsigned>{4294967295u}, std::vector<int>{-1}), 0);
  EXPECT_EQ(accuracy(std::vector<bool>{true, false}, std::vector<bool>{true, true}), 0.5);
  EXPECT_EQ(accuracy(std::vector<std::vector<int>>{{1, 2}, {3}},
                     std::vector<std::vector<int>>{{1, 2}, {4}}),
            0.5);
  EXPECT_EQ(accuracy(std::vector<int>(), std::vector<int>()), 0);
  EXPECT_EQ(message_of<UsageError>([&] { accuracy(found, std::vector<unsigned>{1}); }),
            "[accuracy] need as many predictions as samples; got 4 for 1");
}

TEST(MetricsTest, OfNothing) {
  EXPECT_EQ(Accuracy().value(), 0);
  EXPECT_EQ(PrecisionRecall().f1(), 0);
  EXPECT_EQ(ClassScores(2).accuracy(), 0);
  EXPECT_EQ(ClassScores(2).macro().f1, 0);
  EXPECT_EQ(Perplexity().value(), 1);
  EXPECT_EQ(AttachmentScores().labelled(), 0);
  EXPECT_EQ(SpanScores().f1(), 0);
  EXPECT_EQ(Bleu().value(), 0);
  EXPECT_EQ(Bleu().value(BleuSmoothing::exponential), 0);
}

TEST(MetricsTest, CountsRightOnes) {
  Accuracy accuracy;
  accuracy.add(true);
  accuracy.add(false);
  accuracy.add(2, 2);
  EXPECT_EQ(accuracy.value(), 0.75);
  EXPECT_THROW(accuracy.add(2, 1), UsageError);
  EXPECT_EQ(accuracy.count(), 4u);
}

// Gold 0 0 0 1 1 2, predicted 0 0 1 1 2 2.
TEST(MetricsTest, Classes) {
  ClassScores scores(4);
  const std::size_t gold[] = {0, 0, 0, 1, 1, 2}, predicted[] = {0, 0, 1, 1, 2, 2};
  for (std::size_t i = 0; i < 6; ++i) scores.add(gold[i], predicted[i]);
  EXPECT_EQ(scores.of(0).precision(), 1);
  EXPECT_EQ(scores.of(0).recall(), 2.0 / 3);
  EXPECT_EQ(scores.of(0).f1(), 0.8);
  EXPECT_EQ(scores.of(1).f1(), 0.5);
  EXPECT_EQ(scores.of(2).precision(), 0.5);
  EXPECT_EQ(scores.of(2).f1(), 2.0 / 3);
  EXPECT_EQ(scores.of(3).f1(), 0);
  EXPECT_EQ(scores.accuracy(), 4.0 / 6);
  EXPECT_DOUBLE_EQ(scores.macro().f1, (0.8 + 0.5 + 2.0 / 3) / 4);
  EXPECT_DOUBLE_EQ(scores.macro().precision, (1 + 0.5 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(scores.macro().recall, (2.0 / 3 + 0.5 + 1) / 4);
  const std::vector<std::size_t> none = {0, 3};
  EXPECT_DOUBLE_EQ(scores.macro(none).f1, (0.5 + 2.0 / 3) / 2);
  EXPECT_EQ(scores.macro(std::vector<std::size_t>{0, 1, 2, 3}).f1, 0);
  EXPECT_EQ(scores.micro(none).precision(), 0.5);
  EXPECT_EQ(scores.micro(none).recall(), 2.0 / 3);
  EXPECT_EQ(scores.count(1, 2), 1u);
  EXPECT_THROW(scores.add(0, 4), UsageError);
  EXPECT_THROW(scores.add(4, 0), UsageError);
  EXPECT_EQ(scores.micro().gold, 6u);
  EXPECT_THROW(ClassScores(0), UsageError);
}

TEST(MetricsTest, PerplexityOfAUniformChoice) {
  Perplexity perplexity;
  perplexity.add(3 * std::log(8.0), 3);
  perplexity.add(std::log(8.0), 1);
  EXPECT_DOUBLE_EQ(perplexity.value(), 8);
  EXPECT_DOUBLE_EQ(perplexity.nats(), std::log(8.0));
}

TEST(MetricsTest, Attachment) {
  const std::vector<Arc> gold = {{2, "nsubj"}, {0, "root"}, {2, "obj"}, {2, "punct"}};
  const std::vector<Arc> found = {{2, "obj"}, {0, "root"}, {2, "obj"}, {1, "punct"}};
  AttachmentScores all, without;
  all.add(gold, found);
  EXPECT_EQ(all.unlabelled(), 0.75);
  EXPECT_EQ(all.labelled(), 0.5);
  without.add(gold, found, std::vector<std::string>{"NOUN", "VERB", "NOUN", "PUNCT"});
  EXPECT_EQ(without.unlabelled(), 1);
  EXPECT_EQ(without.labelled(), 2.0 / 3);
  EXPECT_EQ(without.words(), 3u);
  EXPECT_THROW(all.add(gold, std::span(found).first(3)), UsageError);
  EXPECT_THROW(all.add(gold, found, words("NOUN")), UsageError);
}

TEST(MetricsTest, AttachmentInCoNLLU) {
  const auto sentence = [](std::int32_t head, const char* relation) {
    ConlluSentence result;
    result.words = {{"go", "_", "VERB", "_", "_", 0, "root", "_", "_"},
                    {"!", "_", "PUNCT", "_", "_", head, relation, "_", "_"}};
    return result;
  };
  AttachmentScores scores;
  scores.add(sentence(1, "punct"), sentence(1, "punct"));
  scores.add(sentence(1, "punct"), sentence(1, "dep"));
  scores.add(sentence(1, "punct"), sentence(0, "punct"));
  EXPECT_EQ(scores.unlabelled(), 5.0 / 6);
  EXPECT_EQ(scores.labelled(), 4.0 / 6);
  EXPECT_THROW(scores.add(sentence(1, "punct"), sentence(ConlluColumns::kNoHead, "_")), UsageError);
  EXPECT_EQ(scores.words(), 6u);
  const std::vector<ConlluSentence> gold(3, sentence(1, "punct"));
  const std::vector<ConlluSentence> found = {gold[0], sentence(1, "dep"), sentence(0, "punct")};
  EXPECT_EQ(AttachmentScores(gold, found).unlabelled(), 5.0 / 6);
  EXPECT_EQ(AttachmentScores(gold, found).labelled(), 4.0 / 6);
  EXPECT_THROW(AttachmentScores(gold, std::span(found).first(2)), UsageError);
}

using Spans = std::vector<TypedSpan>;

// Every scheme marks spans of one word, of two and of three, and two of one type that touch.
TEST(SpansTest, OfEverySchemeAreTheSame) {
  const Spans right = {{"PER", 1, 2}, {"ORG", 3, 5}, {"ORG", 5, 8}, {"PER", 8, 9}};
  const std::map<std::string, std::string> of_scheme = {
      {"IOB1", "O I-PER O I-ORG I-ORG B-ORG I-ORG I-ORG I-PER O"},
      {"IOB2", "O B-PER O B-ORG I-ORG B-ORG I-ORG I-ORG B-PER O"},
      {"IOE1", "O I-PER O I-ORG E-ORG I-ORG I-ORG I-ORG I-PER O"},
      {"IOE2", "O E-PER O I-ORG E-ORG I-ORG I-ORG E-ORG E-PER O"},
      {"BIOES", "O S-PER O B-ORG E-ORG B-ORG I-ORG E-ORG S-PER O"},
      {"BILOU", "O U-PER O B-ORG L-ORG B-ORG I-ORG L-ORG U-PER O"},
      {"BMES", "O S-PER O B-ORG E-ORG B-ORG M-ORG E-ORG S-PER O"},
      {"BMEWO", "O W-PER O B-ORG E-ORG B-ORG M-ORG E-ORG W-PER O"},
  };
  for (const auto& [scheme, labels] : of_scheme) {
    std::vector<std::string> in_front = words(labels), behind = in_front;
    EXPECT_EQ(spans_of(in_front), right) << scheme;
    for (std::string& label : behind) {
      if (label != "O") label = label.substr(2) + '-' + label[0];
    }
    EXPECT_EQ(spans_of(behind), right) << scheme << ", letters behind";
  }
}

TEST(SpansTest, OfLettersAlone) {
  EXPECT_EQ(spans_of(words("B M E S B E")), (Spans{{"", 0, 3}, {"", 3, 4}, {"", 4, 6}}));
  EXPECT_EQ(spans_of(words("B I B-x-y O E")), (Spans{{"", 0, 2}, {"x-y", 2, 3}, {"", 4, 5}}));
  EXPECT_EQ(spans_of({}), Spans());
  EXPECT_EQ(spans_of(words("O O")), Spans());
}

// As conlleval and seqeval read what no annotator wrote, but a model may say.
TEST(SpansTest, OfLabelsThatDoNotFollowEachOther) {
  const std::map<std::string, Spans> right = {
      {"B-A I-B I-B", {{"A", 0, 1}, {"B", 1, 3}}},
      {"O I-A O I-A", {{"A", 1, 2}, {"A", 3, 4}}},
      {"E-A E-A S-A I-A B-A", {{"A", 0, 1}, {"A", 1, 2}, {"A", 2, 3}, {"A", 3, 4}, {"A", 4, 5}}},
      {"L-A L-A U-A M-A B-A", {{"A", 0, 1}, {"A", 1, 2}, {"A", 2, 3}, {"A", 3, 4}, {"A", 4, 5}}},
      {"B-A S-A I-A E-A", {{"A", 0, 1}, {"A", 1, 2}, {"A", 2, 4}}},
      {"B-A L-B I-B L-B", {{"A", 0, 1}, {"B", 1, 2}, {"B", 2, 4}}},
      {"B-A B-A O L-A", {{"A", 0, 1}, {"A", 1, 2}, {"A", 3, 4}}},
      {"I-A U-A W-A I-B", {{"A", 0, 1}, {"A", 1, 2}, {"A", 2, 3}, {"B", 3, 4}}},
  };
  for (const auto& [labels, spans] : right) EXPECT_EQ(spans_of(words(labels)), spans) << labels;
}

// Nothing is taken for outside, or for a span, that is no label.
TEST(SpansTest, OfOtherLabelsAreRefused) {
  for (const char* label : {"NOUN", "Bank", "BIO", "o", "b-PER", "B_PER", "O-PER", "PER-O", "X-PER",
                            "PER-b", "-", "<unk>", "I\tPER", "V-PER", "N-PER"}) {
    EXPECT_THROW(spans_of(std::vector<std::string>{label}), UsageError) << label;
  }
  EXPECT_THROW(spans_of(std::vector<std::string>{""}), UsageError);
  const auto message = [](const std::string& labels) {
    return message_of<UsageError>([&] { spans_of(words(labels)); });
  };
  EXPECT_EQ(
      message("O B-PER NOUN Bank"),
      "[spans_of] need labels \"O\", \"B-x\" or \"x-B\" with a letter of BIESLUMW, always first "
      "or always last; got \"NOUN\" beside \"B-PER\"");
  EXPECT_EQ(message("Bank O").substr(99), "got \"Bank\"");
  EXPECT_EQ(message("B-PER PER-I").substr(99), "got \"PER-I\" beside \"B-PER\"");
  // A letter that is a type: all labels have it in front, or else all behind.
  EXPECT_EQ(spans_of(words("B-S I-S")), (Spans{{"S", 0, 2}}));
  EXPECT_EQ(spans_of(words("S-B S-I PER-B")), (Spans{{"S", 0, 2}, {"PER", 2, 3}}));
  SpanScores scores;
  EXPECT_THROW(scores.add(words("B-A NOUN"), words("B-A O")), UsageError);
  EXPECT_THROW(scores.add(words("B-A O"), words("B-A NOUN")), UsageError);
  EXPECT_EQ(scores.labels().count(), 0u);
  EXPECT_EQ(scores.all().gold, 0u);
}

// Letters of predicted labels are where those of the right ones are, in this sentence and later.
TEST(SpansTest, OfBothListsHaveTheLetterOnOneSide) {
  SpanScores scores;
  scores.add(words("S-B S-I PER-B"), words("S-B S-I O"));
  EXPECT_EQ(scores.all().gold, 2u);
  EXPECT_EQ(scores.all().found, 1u);
  EXPECT_EQ(scores.all().right, 1u);
  EXPECT_EQ(scores.by_type().at("S").f1(), 1);
  scores.add(words("S-B S-I"), words("O O"));  // would fit the other side
  EXPECT_EQ(scores.by_type().at("S").gold, 2u);
  EXPECT_EQ(message_of<UsageError>([&] { scores.add(words("O B-PER"), words("O O")); }),
            "[SpanScores] need the letter of labels last, as in earlier sentences; got "
            "\"B-PER\"");
  EXPECT_THROW(scores.add(words("PER-B"), words("B-PER")), UsageError);
  EXPECT_EQ(scores.all().gold, 3u);
  SpanScores others;
  others.add(words("O B I"), words("O O B"));  // fit both
  others.add(words("O B-PER"), words("O O"));
  EXPECT_THROW(others.add(words("PER-B"), words("O")), UsageError);
}

// Precision 1/3, recall 1/2: one of two spans is found, one is too long, and one is not there.
TEST(SpansTest, AreComparedAsAWhole) {
  SpanScores scores;
  scores.add(words("B-PER I-PER O B-LOC O O"), words("B-PER I-PER O B-LOC I-LOC B-LOC"));
  EXPECT_EQ(scores.all().precision(), 1.0 / 3);
  EXPECT_EQ(scores.all().recall(), 0.5);
  EXPECT_EQ(scores.f1(), 0.4);
  EXPECT_EQ(scores.by_type().at("PER").f1(), 1);
  EXPECT_EQ(scores.by_type().at("LOC").f1(), 0);
  EXPECT_EQ(scores.labels().value(), 4.0 / 6);
  scores.add(words("B-PER"), words("B-LOC"));  // the right words, another type
  EXPECT_EQ(scores.all().right, 1u);
  EXPECT_THROW(scores.add(words("O O"), words("O")), UsageError);
}

// The tree (S (NP a b) (VP c)), where NP is 1, VP is 2 and S is 0; and one that takes b into VP.
TEST(SpansTest, OfConstituents) {
  Tree gold, found;
  for (const char* word : {"a", "b"}) gold.add_leaf(3, word);
  gold.add_parent(1, 2);
  gold.add_leaf(3, "c");
  gold.add_parent(2, 1);
  gold.add_parent(0, 2);
  EXPECT_EQ(labelled_spans(gold),
            (std::vector<LabelledSpan>{
                {0, 3, 0}, {0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 3, 2}, {2, 3, 3}}));
  for (const char* word : {"a", "b", "c"}) found.add_leaf(3, word);
  found.add_parent(2, 2);
  found.add_parent(0, 2);
  EXPECT_EQ(labelled_spans(found),
            (std::vector<LabelledSpan>{{0, 3, 0}, {0, 1, 3}, {1, 3, 2}, {1, 2, 3}, {2, 3, 3}}));
  EXPECT_TRUE(labelled_spans(Tree()).empty());
  SpanScores scores;
  scores.add(labelled_spans(gold), labelled_spans(found));
  EXPECT_EQ(scores.all().gold, 6u);
  EXPECT_EQ(scores.all().found, 5u);
  EXPECT_EQ(scores.all().right, 4u);
  EXPECT_EQ(scores.by_type().at("3").f1(), 1);
  EXPECT_EQ(scores.by_type().at("2").f1(), 0);
  EXPECT_EQ(scores.labels().count(), 0u);
  // In any order; equal spans count as often as both have them.
  SpanScores others;
  others.add(std::vector<LabelledSpan>{{2, 3, 0}, {0, 1, 0}, {0, 1, 0}, {0, 1, 1}},
             std::vector<LabelledSpan>{{0, 1, 0}, {0, 1, 0}, {0, 1, 0}, {2, 3, 0}});
  EXPECT_EQ(others.all().right, 3u);
  found.set_label(0, Tree::kNoLabel);
  EXPECT_THROW(labelled_spans(found), UsageError);
}

// Papineni et al. (2002), section 2.1: the modified precisions of their examples.
TEST(BleuTest, ModifiedPrecisionsOfThePaper) {
  Bleu the;
  const std::vector<Bleu::Tokens> cat = {words("the cat is on the mat"),
                                         words("there is a cat on the mat")};
  the.add(words("the the the the the the the"), cat);
  EXPECT_EQ(the.precision(1), 2.0 / 7);
  EXPECT_EQ(the.precision(2), 0);
  EXPECT_EQ(the.value(), 0);
  const std::vector<Bleu::Tokens> references = {
      words("It is a guide to action that ensures that the military will forever heed Party "
            "commands"),
      words("It is the guiding principle which guarantees the military forces always being under "
            "the command of the Party"),
      words("It is the practical guide for the army always to heed the directions of the party")};
  Bleu first, second;
  first.add(words("It is a guide to action which ensures that the military always obeys the "
                  "commands of the party"),
            references);
  second.add(words("It is to insure the troops forever hearing the activity guidebook that party "
                   "direct"),
             references);
  EXPECT_EQ(first.precision(1), 17.0 / 18);
  EXPECT_EQ(first.precision(2), 10.0 / 17);
  EXPECT_EQ(second.precision(1), 8.0 / 14);
  EXPECT_EQ(second.precision(2), 1.0 / 13);
  EXPECT_THROW(second.precision(5), UsageError);
  // The documentation of NLTK's sentence_bleu gives 0.5045...
  EXPECT_EQ(std::floor(first.value() * 1e4), 5045);
  // And that of its corpus_bleu, of two sentences, 0.5920...
  first.add(words("he read the book because he was interested in world history"),
            words("he was interested in world history because he read the book"));
  EXPECT_EQ(std::floor(first.value() * 1e4), 5920);
}

TEST(BleuTest, BrevityPenalty) {
  Bleu bleu;
  bleu.add(words("a b c d"), words("a b c d e f"));
  EXPECT_DOUBLE_EQ(bleu.brevity_penalty(), std::exp(1 - 6.0 / 4));
  EXPECT_DOUBLE_EQ(bleu.value(), std::exp(-0.5));
  Bleu closest;  // of lengths 3 and 5, next to 4, the shorter
  closest.add(words("a b c d"), std::vector<Bleu::Tokens>{words("a b c d e"), words("a b c")});
  EXPECT_EQ(closest.brevity_penalty(), 1);
  Bleu empty;
  empty.add({}, words("a"));
  EXPECT_EQ(empty.value(BleuSmoothing::add_one), 0);
  EXPECT_THROW(empty.add(words("a"), std::vector<Bleu::Tokens>()), UsageError);
}

// As sacrebleu 2.6 has it.
TEST(BleuTest, WhereNothingMatches) {
  for (const char* const reference : {"", "a b c d e"}) {
    Bleu bleu;
    bleu.add(words("v w x y z"), words(reference));
    EXPECT_EQ(bleu.value(BleuSmoothing::exponential), 0) << reference;
    EXPECT_EQ(bleu.value(BleuSmoothing::add_one), 0) << reference;
  }
  Bleu of_empty_sentences;
  of_empty_sentences.add({}, Bleu::Tokens());
  EXPECT_EQ(of_empty_sentences.brevity_penalty(), 1);
  of_empty_sentences.add({}, words("a"));
  EXPECT_EQ(of_empty_sentences.brevity_penalty(), 0);
  EXPECT_EQ(of_empty_sentences.value(), 0);
}

TEST(BleuTest, Smoothing) {
  Bleu bleu;  // 4 of 5 words, 2 of 4 pairs, 0 of 3, 0 of 2
  bleu.add(words("a b x c d"), words("a b y c d"));
  EXPECT_EQ(bleu.value(), 0);
  const auto mean = [](double a, double b, double c, double d) {
    return std::pow(a * b * c * d, 0.25);
  };
  EXPECT_DOUBLE_EQ(bleu.value(BleuSmoothing::add_one), mean(4 / 5.0, 3 / 5.0, 1 / 4.0, 1 / 3.0));
  EXPECT_DOUBLE_EQ(bleu.value(BleuSmoothing::exponential),
                   mean(4 / 5.0, 2 / 4.0, 1 / (2 * 3.0), 1 / (4 * 2.0)));
}

struct Counter {
  ParameterCollection model;
  Parameter w = model.add_parameters({3, 3});

  /// A chain of i % 5 + 1 products.
  std::vector<float> operator()(ComputationGraph& graph, std::size_t i) const {
    Expression x = input(graph, Dim({3}), {1, static_cast<float>(i), 2});
    for (std::size_t left = i % 5 + 1; left > 0; --left) x = tanh(parameter(graph, w) * x);
    return as_vector(x.value());
  }
};

TEST(PredictTest, GivesResultsInOrder) {
  const Counter counter;
  constexpr std::size_t kSamples = 103;
  std::vector<std::uint32_t> sizes;
  std::vector<std::vector<float>> expected;
  for (std::size_t i = 0; i < kSamples; ++i) {
    sizes.push_back(i % 5 + 1);
    ComputationGraph graph;
    expected.push_back(counter(graph, i));
  }
  for (const std::size_t batch_size : {std::size_t{1}, std::size_t{10}, std::size_t{1000}}) {
    for (const unsigned threads : {0u, 1u, 2u}) {
      PredictionOptions options;
      options.batch_size = batch_size;
      options.graph.threads = threads;
      EXPECT_EQ(predict(kSamples, counter, options), expected);
      options.sizes = sizes;
      EXPECT_EQ(predict(kSamples, counter, options), expected);
    }
  }
  EXPECT_TRUE(predict(0, counter).empty());
}

// Any type of results; samples may ask for values, and go on as these say.
TEST(PredictTest, TakesSamplesOfARange) {
  const std::vector<std::string> texts = {"one", "three", ""};
  const auto rounds = [](ComputationGraph& graph, const std::string& text) {
    std::pair<std::string, int> result = {text + "!", 0};
    Expression x = input(graph, static_cast<float>(text.size()));
    for (; as_scalar(x.value()) > 0; ++result.second) x = x - 1.0f;
    return result;
  };
  const std::vector<std::pair<std::string, int>> expected = {{"one!", 3}, {"three!", 5}, {"!", 0}};
  EXPECT_EQ(predict(texts, rounds), expected);
  EXPECT_EQ(predict(std::span(texts).first(2), rounds, {.batch_size = 1}).size(), 2u);
  const auto is_long = [](ComputationGraph&, const std::string& text) { return text.size() > 4; };
  EXPECT_EQ(predict(texts, is_long), (std::vector<bool>{false, true, false}));
}

TEST(PredictTest, DrawsTheSameInAnyMinibatch) {
  const auto draw = [](ComputationGraph& graph, std::size_t) {
    return as_vector(random_uniform(graph, {3}, 0, 1).value());
  };
  const auto expected = predict(20, draw, {.batch_size = 1});
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_EQ(predict(20, draw, {.batch_size = 7}), expected);
  EXPECT_NE(predict(20, draw, {.graph = {.seed = 5}}), expected);
}

TEST(PredictTest, RanksShareSamples) {
  const Counter counter;
  const auto expected = predict(30, counter);
  const auto names = [](ComputationGraph&, std::size_t i) {
    return std::vector<std::string>{std::to_string(i), std::string(i, 'x')};
  };
  const auto expected_names = predict(30, names);
  for (const unsigned count : {2u, 3u}) {
    run_ranks(count, [&](const std::shared_ptr<Communicator>& ranks) {
      std::atomic<std::size_t> own = 0;
      const auto counted = [&](ComputationGraph& graph, std::size_t i) {
        ++own;
        return counter(graph, i);
      };
      EXPECT_EQ(predict(30, counted, {.batch_size = 4, .ranks = ranks.get()}), expected);
      EXPECT_LT(own, 30u);
      EXPECT_EQ(predict(30, names, {.batch_size = 4, .ranks = ranks.get()}), expected_names);
      const auto pair = [](ComputationGraph&, std::size_t i) { return std::pair(i, i); };
      EXPECT_EQ(message_of<UsageError>([&] {
                  predict(30, pair, {.ranks = ranks.get()});
                }).find("[predict] need results that are numbers"),
                0u);
    });
  }
}

TEST(PredictTest, RefusesWhatMakesNoSense) {
  const Counter counter;
  const std::vector<std::uint32_t> sizes = {1, 2};
  EXPECT_THROW(predict(3, counter, {.sizes = sizes}), UsageError);
  EXPECT_THROW(predict(3, counter, {.batch_size = 0}), UsageError);
  const auto fail = [](ComputationGraph&, std::size_t) -> int { throw StateError("no"); };
  EXPECT_THROW(predict(3, fail), StateError);
}

// Bytes of another rank may be damaged.
TEST(PredictTest, PartsOfResultsAreRefused) {
  const std::vector<std::string> result = {"one", "two"};
  Communicator::Bytes bytes;
  append_result(bytes, result);
  std::span<const std::byte> rest = bytes;
  std::vector<std::string> back;
  read_result(rest, back);
  EXPECT_EQ(back, result);
  EXPECT_TRUE(rest.empty());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    rest = std::span(bytes).first(size);
    EXPECT_THROW(read_result(rest, back), RankError) << size;
  }
}

}  // namespace
}  // namespace dynet_like::nn
