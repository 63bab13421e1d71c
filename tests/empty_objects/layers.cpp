// Layers: each is called in all its ways.
#include <sstream>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

// What layers are called with.
struct Inputs {
  GraphOptions options = [] {
    GraphOptions made;
    made.seed = 1;
    return made;
  }();
  ParameterCollection model;
  ComputationGraph graph{options};
  Expression x = input(graph, {2}, {1, 2});
  std::vector<Expression> xs = {x, x};
  Expression columns = concatenate_cols(xs);
  Structure sequence = Structure::sequence(2);
  nn::Tree tree = [] {
    nn::Tree made;
    made.add_leaf(1, "a");
    made.add_leaf(1, "b");
    made.add_parent(1, 2);
    return made;
  }();
};

void use_attention(Types& types, Inputs& in) {
  const auto use = [&](const auto& layer) {
    ATTEMPT(layer(layer.read(in.columns), in.x).value());
    ATTEMPT(layer(layer.read(in.xs), in.x).value());
    ATTEMPT(layer.weights(layer.read(in.columns), in.x).value());
    ATTEMPT(layer(nn::AttentionMemory(), in.x));
    ATTEMPT(layer.read(std::vector<Expression>()));
    if constexpr (requires { layer.attend(nn::AttentionMemory(), in.x); }) {
      ATTEMPT(layer.attend(layer.read(in.columns), in.x).mean.value());
    }
  };
  types.use("DotAttention", nn::DotAttention(), use);
  types.use("BilinearAttention", nn::BilinearAttention(in.model, 2, 2), use);
  types.use("AdditiveAttention", nn::AdditiveAttention(in.model, 2, 2, {.hidden = 3}), use);
  types.use("MultiHeadAttention", nn::MultiHeadAttention(in.model, 2, {.heads = 1}),
            [&](const nn::MultiHeadAttention& layer) {
              use(layer);
              ATTEMPT(layer(in.columns).value());
            });
  types.use("Coverage", nn::Coverage(in.model, 2), [&](const nn::Coverage& layer) {
    ATTEMPT(layer({in.columns, in.columns}, in.x).keys.value());
    ATTEMPT(layer({}, in.x));
  });
  types.data<AttentionOptions>("AttentionOptions");
  types.data<nn::AttentionMemory>("AttentionMemory");
  types.data<nn::Attended>("Attended");
  types.use("CopyOutput", nn::CopyOutput(in.model, 2, 5, {.means = 2}),
            [&](const nn::CopyOutput& layer) {
              const Expression weights = softmax(in.x);
              ATTEMPT(layer(in.x, {in.x, weights}, {1, 2}).value());
              ATTEMPT(layer.loss(in.x, {in.x, weights}, {1, 2}, 1).value());
              ATTEMPT(layer.loss(in.x, {in.x, weights}, {1, 5}, 5).value());
              ATTEMPT(layer(in.x, {}, {}));
            });
  ATTEMPT(nn::coverage_loss({}));
  ATTEMPT(nn::coverage_loss(std::vector<Expression>(2)));
  ATTEMPT(nn::pick_batch_elems(nn::AttentionMemory(), {0}).keys.value());
}

void use_decoder(Types& types, Inputs& in) {
  const auto use = [&](const auto& layer) {
    ATTEMPT(layer(in.columns, in.columns).value());
    ATTEMPT(layer(Expression(), in.columns));
    ATTEMPT(layer(in.columns, Expression()));
    ATTEMPT(layer.start(Expression()));
    ATTEMPT(layer.step(layer.start(in.columns), in.x).h.value());
    ATTEMPT(layer.step(layer.start(in.columns), Expression()));
    ATTEMPT(layer.step({}, in.x));
    ATTEMPT(nn::pick_batch_elems(layer.start(in.columns), {0}));
  };
  const nn::TransformerOptions options = {.size = 2, .hidden = 2, .heads = 1};
  types.use("TransformerDecoderLayer", nn::TransformerDecoderLayer(in.model, options), use);
  types.use("TransformerDecoder", nn::TransformerDecoder(in.model, options), use);
  ATTEMPT(nn::TransformerDecoder::State().length());
  types.use("Residual", nn::residual(in.model, "norm", options), [&](const nn::Residual& around) {
    ATTEMPT(around(in.x, [](const Expression& x) { return tanh(x); }).value());
    ATTEMPT(around(Expression(), [](const Expression& x) { return tanh(x); }));
  });
}

template <class Layer>
void use_recurrent(const Layer& layer, Inputs& in) {
  ATTEMPT(layer.hidden());
  ATTEMPT(layer.step(layer.start(in.graph), in.x));
  ATTEMPT(layer.step({}, in.x));
  ATTEMPT(layer(in.xs));
  ATTEMPT(layer(std::vector<Expression>()));
  ATTEMPT(layer(in.columns).size());
  ATTEMPT(layer(Expression()));
  if constexpr (requires { layer.backwards(in.columns); }) {
    ATTEMPT(layer.backwards(in.columns).size());
    ATTEMPT(layer(in.columns, layer.start(in.graph)).size());
    ATTEMPT(layer(in.columns, {}));
  }
}

void use_recurrent_layers(Types& types, Inputs& in) {
  const auto use = [&](const auto& layer) { use_recurrent(layer, in); };
  types.use("LSTM", nn::LSTM(in.model, 2, 2), use);
  types.use("GRU", nn::GRU(in.model, 2, 2), [&](const nn::GRU& layer) {
    use(layer);
    ATTEMPT(layer.step_without_input(in.x).value());
  });
  types.use("Stacked", nn::StackedLSTM(in.model, 2, 2, {.layers = 2}),
            [&](const nn::StackedLSTM& layer) {
              use(layer);
              ATTEMPT(layer.layers());
              ATTEMPT(nn::StackedLSTM::output({}));
            });
  const auto use_both = [&](const auto& layer) {
    ATTEMPT(layer.hidden());
    ATTEMPT(layer(in.xs));
    ATTEMPT(layer(in.columns).value());
    ATTEMPT(layer(std::vector<Expression>()));
    ATTEMPT(layer.final_states(in.xs).value());
    ATTEMPT(layer.final_states(in.columns).value());
    ATTEMPT(layer.final_states(std::vector<Expression>()));
    ATTEMPT(layer(Expression()));
  };
  types.use("Bidirectional", nn::BidirectionalLSTM(in.model, 2, 2), use_both);
  types.use("Bidirectional", nn::BidirectionalGRU(in.model, 2, 2), use_both);
  const nn::LSTM lstm(in.model, 2, 2);
  types.use("StackState", nn::StackState<nn::LSTM>(lstm, lstm.start(in.graph)),
            [&](nn::StackState<nn::LSTM>& stack) {
              ATTEMPT(stack.pop());
              ATTEMPT(stack.top().value());
              ATTEMPT(stack.state().h.value());
              ATTEMPT(stack.push(Expression()));
              ATTEMPT(stack.push(in.x));
              ATTEMPT(stack.pop());
              EXPECT_EQ(stack.empty(), stack.size() == 0);
              ATTEMPT(stack.for_each_expression([](const auto&) {}));
            });
}

void use_tree_layers(Types& types, Inputs& in) {
  types.use("TreeLSTM", nn::TreeLSTM(in.model, 2, 2), [&](const nn::TreeLSTM& layer) {
    ATTEMPT(layer.hidden());
    ATTEMPT(layer.leaf(in.x).h.value());
    ATTEMPT(layer.inner({}, {}));
    ATTEMPT(layer.inner({in.x, in.x}, {in.x, in.x}).h.value());
    ATTEMPT(layer(in.tree, in.xs));
    ATTEMPT(layer(in.tree, in.columns).size());
    ATTEMPT(layer(nn::Tree(), in.xs));
    ATTEMPT(layer(nn::Tree(), std::vector<Expression>()));
    ATTEMPT(layer(nn::Tree(), in.columns));
  });
  const std::vector<CellState> children = {{in.x, in.x}};
  const auto use = [&](const auto& layer) {
    ATTEMPT(layer.hidden());
    ATTEMPT(layer.node(in.x).h.value());
    ATTEMPT(layer.node(in.x, children).h.value());
    ATTEMPT(layer.node(in.x, std::vector<CellState>(1)).h.value());
    ATTEMPT(layer(in.sequence, in.columns).size());
  };
  types.use("ChildSumTreeLSTM", nn::ChildSumTreeLSTM(in.model, 2, 2), use);
  types.use("NaryTreeLSTM", nn::NaryTreeLSTM(in.model, 2, 2, {.children = 2}),
            [&](const nn::NaryTreeLSTM& layer) {
              use(layer);
              ATTEMPT(layer.node(children).h.value());
              ATTEMPT(layer.node(std::span<const CellState>()));
              ATTEMPT(layer.children());
            });
}

void use_word_layers(Types& types, Inputs& in) {
  const auto use_word = [&](const auto& layer) {
    ATTEMPT(layer.outputs());
    ATTEMPT(layer(in.graph, {1, 2}).value());
    ATTEMPT(layer(in.graph, std::vector<std::uint32_t>()));
  };
  types.use("CharacterCNN", nn::CharacterCNN(in.model, 3, 2, {.filters = {{1, 2}}}), use_word);
  types.use("CharacterLSTM", nn::CharacterLSTM(in.model, 3, 2, {.hidden = 2}), use_word);
  types.data<nn::CharacterFilters>("CharacterFilters");
  const nn::Embedding embedding(in.model, 5, 2);
  types.use("Embedding", embedding, [&](const nn::Embedding& layer) {
    ATTEMPT(layer(in.graph, 1).value());
    ATTEMPT(layer.columns(in.graph, {1, 2}).value());
    ATTEMPT(layer.minibatch(in.graph, {1, 2}).value());
    ATTEMPT(layer.sum(in.graph, {1, 2}).value());
    ATTEMPT(layer.mean(in.graph, {1, 2}).value());
    ATTEMPT(layer.sum(in.graph, std::vector<std::uint32_t>()).value());
    ATTEMPT(layer.table().rows());
    ATTEMPT(nn::TiedLinear(in.model, layer));
  });
  const auto use = [&](const auto& layer) {
    ATTEMPT(layer(in.x).value());
    ATTEMPT(layer(in.columns).value());
    ATTEMPT(layer(Expression()));
  };
  types.use("TiedLinear", nn::TiedLinear(in.model, embedding), use);
  types.use("SinusoidalPositions", nn::SinusoidalPositions(4, 2), use);
  types.use("LearnedPositions", nn::LearnedPositions(in.model, 4, 2), use);
}

void use_encoders(Types& types, Inputs& in) {
  nn::EncoderConfig config;
  config.vocabulary = config.size = config.hidden = config.positions = 4;
  config.heads = config.layers = 1;
  types.data<nn::EncoderFileOptions>("EncoderFileOptions");
  types.use("EncoderConfig", config, [&](const nn::EncoderConfig& each) {
    ATTEMPT(each.check());
    ATTEMPT(each.to_text());
    if (each.size < 100) ATTEMPT(nn::Encoder(in.model, each));
  });
  types.use("Encoder", nn::Encoder(in.model, config), [&](const nn::Encoder& layer) {
    ATTEMPT(layer(in.graph, {1, 2}).value());
    ATTEMPT(layer.layers(in.graph, {1, 2}).size());
    ATTEMPT(layer(in.graph, std::vector<std::uint32_t>()));
    ATTEMPT(layer.config().size);
    ATTEMPT(layer.most_pieces());
    ATTEMPT(layer.groups().size());
    ATTEMPT(layer.with_adapters(in.model).merge_adapters());
  });
  types.data<nn::FineTuning>("FineTuning");
  types.data<nn::AdapterOptions>("AdapterOptions");
  const Metadata texts = {
      {"encoder.config", config.to_text()},
      {"encoder.tokenizer", R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]}})"}};
  types.use("TextEncoder", nn::TextEncoder(in.model, texts), [&](const nn::TextEncoder& layer) {
    const std::vector<std::string> words = {"a", ""};
    ATTEMPT(layer.words(in.graph, words).value());
    ATTEMPT(layer.words(in.graph, {}));
    ATTEMPT(layer.text(in.graph, "").value());
    ATTEMPT(layer.pieces(in.graph, {}));
    ATTEMPT(layer.texts().size());
    ATTEMPT(layer.with_adapters(in.model).size());
  });
  types.use("ScalarMix", nn::ScalarMix(in.model, 2), [&](const nn::ScalarMix& layer) {
    ATTEMPT(layer(in.xs).value());
    ATTEMPT(layer(std::vector<Expression>()));
    ATTEMPT(layer(std::vector<Expression>(2)));
  });
}

void use_plain_layers(Types& types, Inputs& in) {
  const auto use = [&](const auto& layer) {
    ATTEMPT(layer(in.x).value());
    ATTEMPT(layer(in.columns).value());
    ATTEMPT(layer(Expression()));
  };
  types.use("Linear", nn::Linear(in.model, 2, 2), [&](const nn::Linear& layer) {
    use(layer);
    ATTEMPT(layer.weights().values());
    ATTEMPT(layer.bias().values());
  });
  types.use("LayerNorm", nn::LayerNorm(in.model, 2), use);
  types.use("RMSNorm", nn::RMSNorm(in.model, 2), use);
  types.use("Conv1D", nn::Conv1D(in.model, 2, 2, {.width = 2}), use);
  types.use("Highway", nn::Highway(in.model, 2), use);
  types.use("MLP", nn::MLP(in.model, 2, {2, 2}), use);
  types.use("MLPOptions", nn::MLPOptions(),
            [&](const nn::MLPOptions& options) { ATTEMPT(nn::MLP(in.model, 2, {2}, options)); });
  types.use("TransformerEncoderLayer",
            nn::TransformerEncoderLayer(in.model, {.size = 2, .hidden = 2, .heads = 1}), use);
  types.use("TransformerEncoder",
            nn::TransformerEncoder(in.model, {.size = 2, .hidden = 2, .heads = 1, .layers = 2}),
            use);
  types.data<nn::LayerOptions>("LayerOptions");
  types.data<nn::StackOptions>("StackOptions");
  types.data<nn::LinearOptions>("LinearOptions");
  types.data<nn::RMSNormOptions>("RMSNormOptions");
  types.data<nn::Conv1DOptions>("Conv1DOptions");
  types.data<nn::HighwayOptions>("HighwayOptions");
  types.data<nn::CharacterCNNOptions>("CharacterCNNOptions");
  types.data<nn::CharacterLSTMOptions>("CharacterLSTMOptions");
  types.data<nn::NaryTreeLSTMOptions>("NaryTreeLSTMOptions");
  types.data<nn::AdditiveAttentionOptions>("AdditiveAttentionOptions");
  types.data<nn::CopyOutputOptions>("CopyOutputOptions");
  types.data<nn::MultiHeadAttentionOptions>("MultiHeadAttentionOptions");
  types.data<nn::TransformerOptions>("TransformerOptions");
  types.use("AnyInit", nn::AnyInit(ParameterInitConst(0)), [&](const nn::AnyInit& init) {
    ATTEMPT(nn::Embedding(in.model, 2, 2, {.init = init}));
  });
  types.use("EmbeddingOptions", nn::EmbeddingOptions(), [&](const nn::EmbeddingOptions& options) {
    ATTEMPT(nn::Embedding(in.model, 2, 2, options));
  });
  types.use("BiaffineArcs", nn::BiaffineArcs(in.model, 2), [&](const nn::BiaffineArcs& layer) {
    ATTEMPT(layer(in.columns, in.columns).value());
    ATTEMPT(layer(Expression(), in.columns));
  });
  types.use("BiaffineLabels", nn::BiaffineLabels(in.model, 2, 3),
            [&](const nn::BiaffineLabels& layer) {
              ATTEMPT(layer(in.columns, in.columns).value());
              ATTEMPT(layer.all_pairs(in.columns, in.columns).value());
              ATTEMPT(layer(Expression(), in.columns));
            });
  types.use("VariationalDropout", nn::VariationalDropout(0.5f),
            [&](const nn::VariationalDropout& layer) {
              EXPECT_EQ(layer.rate(), 0.5f);
              nn::VariationalDropout::Mask mask = layer.start(in.graph, 2);
              const nn::VariationalDropout::Mask taken = std::move(mask);
              ATTEMPT(mask(in.x).value());
              ATTEMPT(taken(in.x).value());
              ATTEMPT(nn::VariationalDropout::Mask()(in.x));
            });
}

}  // namespace

void use_layers(Types& types) {
  Inputs in;
  use_attention(types, in);
  use_decoder(types, in);
  use_recurrent_layers(types, in);
  use_tree_layers(types, in);
  use_word_layers(types, in);
  use_plain_layers(types, in);
  use_encoders(types, in);
}

}  // namespace dynet_like
