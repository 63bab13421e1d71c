// What docs/layers.md says of sentences of different lengths: which operations share batches.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

class SentenceLengthsTest : public ::testing::Test {
 protected:
  static constexpr unsigned kSize = 16, kTags = 3, kShortest = 5, kLongest = 36;
  // Of a sentence of n words, whose numbers are given.
  using Record = std::function<Expression(ComputationGraph& graph, const std::vector<unsigned>&)>;
  using OfMatrix = std::function<Expression(const Expression& x)>;

  static std::size_t batches(const Record& record, bool of_equal_lengths) {
    GraphOptions options;
    options.seed = 1;
    Minibatch batch(options);
    for (unsigned n = kShortest; n <= kLongest; ++n) {
      std::vector<unsigned> words(of_equal_lengths ? kLongest : n);
      std::iota(words.begin(), words.end(), n);
      batch.add_output(record(batch.new_graph(), words));
    }
    batch.forward();
    return batch.explain().batches;
  }
  static bool share_batches(const Record& record) {
    return batches(record, false) == batches(record, true);
  }
  // The words as columns of a matrix {16, n}.
  bool share_batches(const OfMatrix& f) const {
    return share_batches(Record([&](ComputationGraph& graph, const std::vector<unsigned>& words) {
      return f(embedding.columns(graph, words));
    }));
  }
  // The last of them, once for each length.
  bool has_a_type_per_length(const OfMatrix& f) const {
    const auto record = [&](ComputationGraph& graph, const std::vector<unsigned>& words) {
      return f(embedding.columns(graph, words));
    };
    return batches(record, false) >= batches(record, true) + kLongest - kShortest;
  }
  static Expression words_of(const Expression& x) {  // as minibatch elements
    return reshape(x, Dim({x.dim().rows()}, x.dim().cols()));
  }

  ParameterCollection model;
  Embedding embedding{model, 100, kSize};
  Linear linear{model, kSize, kSize}, tags{model, kSize, kTags};
  Linear product{model, kSize, kTags, {.bias = false, .name = "product"}};
  Parameter weights = model.add_parameters({kSize, kSize});
};

TEST_F(SentenceLengthsTest, LayersShareBatches) {
  const MLP mlp(model, kSize, {32, kSize});
  const Highway highway(model, kSize);
  const LayerNorm norm(model, kSize);
  const SinusoidalPositions sinusoidal(40, kSize);
  const LearnedPositions learned(model, 40, kSize);
  const RMSNorm rms(model, kSize);
  const Conv1D same(model, kSize, kSize, {.width = 3, .padding = 1}),
      strided(model, kSize, kSize, {.width = 3, .stride = 2, .dilation = 2, .padding = 4});
  const TransformerDecoder decoder(model, {.size = kSize, .hidden = 32, .heads = 2, .layers = 2});
  const DotAttention dot;
  const MultiHeadAttention heads(model, kSize, {.heads = 2});
  const TransformerEncoder encoder(
      model, {.size = kSize, .hidden = 32, .heads = 2, .layers = 2, .dropout = 0.1f});
  EXPECT_TRUE(share_batches([&](const Expression& x) { return linear(x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return tags(x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return mlp(x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return highway(x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return norm(x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return rms(x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return same(x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return strided(x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return decoder(x, x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return dropout(x, 0.5f); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return sinusoidal(x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return learned(x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return dot(dot.read(x), pick(x, 0, 1)); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return heads(x); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return encoder(x); }));
}

// A pointer-generator with coverage (See et al. 2017): weights of keys are minibatch elements.
TEST_F(SentenceLengthsTest, WeightsOfAttentionShareBatches) {
  const DotAttention dot;
  const BilinearAttention bilinear(model, kSize, kSize);
  const AdditiveAttention additive(model, kSize, kSize, {.hidden = kSize});
  const auto query = [](const Expression& x) { return pick(x, 0, 1); };
  const auto first = [](const Expression& w) {
    return gather(reshape(w, {1, w.dim().rows()}), {0}, 1);
  };
  EXPECT_TRUE(share_batches(
      [&](const Expression& x) { return first(dot.weights(dot.read(x), query(x))); }));
  EXPECT_TRUE(share_batches(
      [&](const Expression& x) { return first(bilinear.weights(bilinear.read(x), query(x))); }));
  EXPECT_TRUE(share_batches(
      [&](const Expression& x) { return first(additive.weights(additive.read(x), query(x))); }));
  const Linear of_coverage(model, 1, kSize, {.bias = false, .name = "coverage"});
  EXPECT_TRUE(share_batches([&](const Expression& x) {
    const unsigned n = x.dim().cols();
    const AttentionMemory memory = additive.read(x);
    Expression coverage = zeros(*x.pg, Dim({1}, n)), h = query(x), loss;
    for (unsigned step = 0; step < 3; ++step) {
      const Expression seen = reshape(of_coverage(coverage), {kSize, n});
      const AttentionMemory covered = {memory.keys + seen, memory.values};
      const Expression weights = additive.weights(covered, h);
      const Expression each = reshape(weights, Dim({1}, n));
      const Expression again = segment_sum(reshape(min(each, coverage), {1, n}), {n});
      const Expression copied = segment_sum(gather(reshape(weights, {1, n}), {3, 1, 4}, 1), {3});
      const Expression term = again - log(copied);
      loss = step == 0 ? term : loss + term;
      coverage = coverage + each;
      h = tanh(h + additive(covered, h));
    }
    return loss;
  }));
}

TEST_F(SentenceLengthsTest, WhatIsDoneToEveryColumnSharesBatches) {
  EXPECT_TRUE(share_batches([&](const Expression& x) {
    const Expression w = parameter(*x.pg, weights);
    const Expression y = tanh(w * x) + cmult(x, x) - sigmoid(tanh(w) * x) * 2.0f;
    const Expression z = colwise_add(sum({min(x, y), x, y}), pick(w, 0, 1));
    return concatenate({softmax(y), pick_range(y, 2, 14), log_softmax(z), select_rows(x, {3, 1})});
  }));
  EXPECT_TRUE(share_batches([](const Expression& x) { return max_dim(x, 0); }));
  EXPECT_TRUE(share_batches([](const Expression& x) {
    return noise(dropout_dim(dropout_dim(dropout(x, 0.5f), 0, 0.5f), 1, 0.5f), 0.1f);
  }));
  EXPECT_TRUE(has_a_type_per_length([](const Expression& x) { return softmax(x, 1); }));
}

TEST_F(SentenceLengthsTest, ColumnsOfFewElementsDoNot) {
  const auto rows = [](const Expression& x, unsigned n) { return tanh(pick_range(x, 0, n)); };
  EXPECT_TRUE(share_batches([&](const Expression& x) { return rows(x, 8); }));
  EXPECT_TRUE(has_a_type_per_length([&](const Expression& x) { return rows(x, 7); }));
  const Linear narrow(model, 4, kSize), bare(model, 4, kSize, {.bias = false});
  const auto few = [&](const Linear& of, const Expression& x) { return of(pick_range(x, 0, 4)); };
  EXPECT_TRUE(share_batches([&](const Expression& x) { return few(narrow, x); }));  // its bias
  EXPECT_TRUE(has_a_type_per_length([&](const Expression& x) { return few(bare, x); }));
  EXPECT_TRUE(has_a_type_per_length([&](const Expression& x) { return softmax(tags(x)); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return softmax(words_of(tags(x))); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) {
    const std::vector<unsigned> gold(x.dim().cols(), 1);
    return cross_entropy(words_of(product(x)), gold);
  }));
}

TEST_F(SentenceLengthsTest, WordsAsMinibatchElementsShareBatches) {
  EXPECT_TRUE(share_batches([](const Expression& x) { return sum_batches(words_of(x)); }));
  const MultiHeadAttention heads(model, kSize, {.heads = 2});
  const auto record = [&](ComputationGraph& graph, const std::vector<unsigned>& words) {
    const auto n = static_cast<unsigned>(words.size());
    const Expression x = tanh(linear(embedding.minibatch(graph, words)));  // {16} each
    const Expression all = heads(reshape(x, {kSize, n}));
    return softmax(tanh(tags(reshape(all, Dim({kSize}, n)))));
  };
  EXPECT_TRUE(share_batches(Record(record)));
}

TEST_F(SentenceLengthsTest, WhatReadsAlongTheSentenceHasATypePerLength) {
  EXPECT_TRUE(has_a_type_per_length([](const Expression& x) { return sum_elems(x); }));
  EXPECT_TRUE(has_a_type_per_length([](const Expression& x) { return average_cols(x); }));
  EXPECT_TRUE(has_a_type_per_length([](const Expression& x) { return max_dim(x, 1); }));
  EXPECT_TRUE(has_a_type_per_length([](const Expression& x) { return transpose(x); }));
  EXPECT_FALSE(share_batches(Record(
      [&](ComputationGraph& graph, const auto& words) { return embedding.mean(graph, words); })));
  EXPECT_FALSE(share_batches(Record([&](ComputationGraph& graph, const auto& words) {
    std::vector<Expression> columns;
    for (const unsigned word : words) columns.push_back(embedding(graph, word));
    return concatenate_cols(columns);
  })));
}

TEST_F(SentenceLengthsTest, ChosenWordsAndTheirSumsShareBatches) {
  EXPECT_TRUE(share_batches([](const Expression& x) { return select_cols(x, {2, 0}); }));
  EXPECT_TRUE(share_batches([](const Expression& x) {
    const std::vector<unsigned> lengths = {2, x.dim().cols() - 2};
    return segment_sum(x, lengths) + segment_max(x, lengths) + segment_mean(x, lengths);
  }));
  EXPECT_TRUE(share_batches([](const Expression& x) { return segment_softmax(x, {x.dim()[1]}); }));
  EXPECT_TRUE(share_batches([&](const Expression& x) {
    const Expression scores = words_of(tags(x));  // fewer than eight rows
    return pick_batch_elems(scores, {3, 1, 3});
  }));
}

// A query of zeros fits all keys alike.
TEST_F(SentenceLengthsTest, AttentionIsAMean) {
  const auto mean = [](const Expression& x) {
    return attention(zeros(*x.pg, {x.dim().rows()}), x, x);
  };
  EXPECT_TRUE(share_batches(mean));
  EXPECT_TRUE(share_batches([&](const Expression& x) { return mean(tags(x)); }));
  EXPECT_TRUE(share_batches(
      [&](const Expression& x) { return attention(pick(parameter(*x.pg, weights), 0, 1), x, x); }));
  ComputationGraph graph;
  const Expression x = embedding.columns(graph, std::vector<unsigned>{3, 1, 4, 1, 5});
  const auto found = as_vector(mean(x).value()), expected = as_vector(average_cols(x).value());
  for (unsigned i = 0; i < kSize; ++i) EXPECT_NEAR(found[i], expected[i], 1e-6f);
}

// An op with many types leaves room for the others.
TEST_F(SentenceLengthsTest, TheReportNamesEveryOpWithSeveralTypes) {
  Minibatch batch;
  for (unsigned n = kShortest; n <= kLongest; ++n) {
    const Expression x = embedding.columns(batch.new_graph(), std::vector<unsigned>(n, 1));
    batch.add_output(transpose(x) * average_cols(x));
  }
  batch.forward();
  std::map<std::string, std::string> differences;
  const Report report = batch.explain();
  for (const Report::MissedMerge& merge : report.missed_merges) {
    differences[merge.op] = merge.difference;
  }
  const auto input = [](const std::string& shapes) { return "input 0 is " + shapes; };
  EXPECT_EQ(differences, (std::map<std::string, std::string>{
                             {"matrix_product", input("{5,16}, {6,16}, {7,16}, ... or {36,16}")},
                             {"mean_dim", input("{16,5}, {16,6}, {16,7}, ... or {16,36}")},
                             {"transpose", input("{16,5}, {16,6}, {16,7}, ... or {16,36}")}}));
  // As docs/layers.md shows it.
  std::ostringstream text;
  text << report;
  EXPECT_TRUE(mentions(
      text.str(),
      "not together: mean_dim, 32 nodes of 32 types in 32 batches\n"
      "  split by length: input 0 is {16,5}, {16,6}, {16,7}, ... or {16,36}\n"
      "  instead: segment_mean(x, {n}, 1) takes any length; for mean_elems(x), of reshape(x, "
      "{1, n})\n"
      "  saves up to 31 batches, 31 kernel calls\n"));
}

}  // namespace
}  // namespace dynet_like::nn
