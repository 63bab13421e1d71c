// Entries of the list of layers: pretrained encoders, and losses of structured outputs.
#include "tests/support/layer_entries.h"

namespace dynet_like::nn::layer_entries {

namespace {

EncoderConfig small_encoder() {
  EncoderConfig config;
  config.vocabulary = 7;
  config.size = 4;
  config.hidden = 3;
  config.heads = config.layers = 2;
  config.positions = 9;
  config.embedding_dropout = config.attention_dropout = 0.2f;
  config.attention_output_dropout = config.network_dropout = 0.2f;
  return config;
}

/// Scores of heads: the root and all words for each word.
Expression arc_scores(const Expression& xs) {
  const Expression all = concatenate_cols({constant(*xs.pg, {xs.dim().rows()}, 0.5f), xs});
  return transpose(all) * xs;
}

std::vector<LabelledSpan> words_as_spans(unsigned words) {
  std::vector<LabelledSpan> spans;
  for (unsigned i = 0; i < words; ++i) spans.push_back({i, i + 1, i % 2});
  return spans;
}

std::vector<LabelledSpan> right_branching(unsigned words) {
  std::vector<LabelledSpan> spans = words_as_spans(words);
  for (unsigned i = 0; i + 1 < words; ++i) spans.push_back({i, words, 1});
  return spans;
}

/// Scores of spans of 1, 2, ... up to `longest` words, a minibatch element each, from the columns
/// of their words.
std::vector<Expression> span_scores(const Expression& columns, unsigned longest) {
  const unsigned words = columns.dim().cols(), labels = columns.dim().rows();
  std::vector<Expression> scores;
  for (unsigned length = 1; length <= std::min(words, longest); ++length) {
    const unsigned starts = words - length + 1;
    std::vector<Expression> sums;
    for (unsigned i = 0; i < length; ++i) {
      sums.push_back(pick_range(columns, i, i + starts, 1));
    }
    scores.push_back(reshape(tanh(sum(sums)), Dim({labels}, starts)));
  }
  return scores;
}

}  // namespace

void add_encoders(std::vector<LayerCase>& all) {
  all.push_back(entry(
      "Encoder", 0, {Dim({4, 3}), Dim({4, 3}), Dim({4, 3}), Dim({4, 3})},
      [](Model& m) { return Encoder(m, small_encoder()); },
      [](const Encoder& layer, const Expression& xs) {
        const Rows ids = numbers_of(xs, 7);
        return list(layer(xs.graph("test"), ids), layer.layers(xs.graph("test"), ids));
      }));
  all.push_back(entry(
      "TextEncoder", 0, {Dim({4, 3}), Dim({4}), Dim({4})},
      [](Model& m) {
        return TextEncoder(m, {{"encoder.config", small_encoder().to_text()},
                               {"encoder.tokenizer",
                                R"({"model":{"type":"BPE","vocab":{"a":1,"b":2},"merges":[]}})"}});
      },
      [](const TextEncoder& layer, const Expression& xs) {
        ComputationGraph& graph = xs.graph("test");
        std::vector<std::string> words(count_of(xs), "ab");
        words[0] = "";
        return list(layer.words(graph, words), layer.text(graph, "ab"),
                    layer.text(graph, "ba", Pooling::max));
      }));
  all.push_back(entry(
      "ScalarMix", 4, {Dim({4, 3})}, [](Model& m) { return ScalarMix(m, 2); },
      [](const ScalarMix& layer, const Expression& xs) {
        return list(layer(std::vector{xs, sin(xs)}));
      }));
}

void add_structured(std::vector<LayerCase>& all) {
  const Dim loss({1});
  all.push_back(entry(
      "LinearChainCRF", 4, {loss, loss, loss, loss, Dim({4, 3})},
      [](Model& m) { return LinearChainCRF(m, 4); },
      [](const LinearChainCRF& crf, const Expression& xs) {
        const Rows gold = numbers_of(xs, 4);
        std::vector<int> known(gold.size(), -1);
        known.back() = 2;
        return list(crf.loss(xs, gold), crf.log_partition(xs), crf.log_partition(xs, known),
                    crf.score(xs, gold), crf.best(xs));
      }));
  all.push_back(entry(
      "SemiMarkovCRF", 4, {loss, loss, loss},
      [](Model& m) { return SemiMarkovCRF(m, 4, {.max_length = 2}); },
      [](const SemiMarkovCRF& crf, const Expression& xs) {
        const std::vector<Expression> scores = span_scores(xs, 2);
        const std::vector<LabelledSpan> gold = words_as_spans(count_of(xs));
        return list(crf.loss(scores, gold), crf.log_partition(scores), crf.score(scores, gold));
      }));
  all.push_back(function("span_loss", 4, {loss, loss}, [](const Expression& xs) {
    const std::vector<Expression> scores = span_scores(xs, count_of(xs));
    return list(span_loss(scores, right_branching(count_of(xs))), span_log_partition(scores));
  }));
  all.push_back(function("constituents_loss", 4, {loss}, [](const Expression& xs) {
    const std::vector<LabelledSpan> gold = {{0, count_of(xs), 1}};
    return list(constituents_loss(span_scores(xs, count_of(xs)), gold, 0));
  }));
  all.push_back(function("ctc_loss", 4, {loss, loss}, [](const Expression& xs) {
    return list(ctc_loss(xs, {2}), ctc_loss(columns_of_matrix(xs), {}));
  }));
  all.push_back(function("projective_tree_loss", 4, {loss, loss}, [](const Expression& xs) {
    const std::vector<unsigned> heads = heads_of(count_of(xs));
    return list(projective_tree_loss(arc_scores(xs), heads),
                projective_tree_loss(arc_scores(xs), heads, Roots::any));
  }));
  all.push_back(function("matrix_tree_loss", 4, {loss, loss}, [](const Expression& xs) {
    const std::vector<unsigned> heads = heads_of(count_of(xs));
    return list(matrix_tree_loss(arc_scores(xs), heads),
                matrix_tree_loss(arc_scores(xs), heads, Roots::any));
  }));
}

}  // namespace dynet_like::nn::layer_entries
