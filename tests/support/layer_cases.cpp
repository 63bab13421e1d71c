// The list of all layers. Sizes differ from each other, so that none can stand for another.
#include "tests/support/layer_cases.h"

#include "tests/support/layer_entries.h"

namespace dynet_like::nn {

namespace layer_entries {

namespace {

/// A tree over as many words whose left parts are words.
Tree tree_over(unsigned words) {
  Tree tree;
  for (unsigned i = 0; i < words; ++i) tree.add_leaf(0, "word");
  for (unsigned i = 1; i < words; ++i) tree.add_parent(0, 2);
  return tree;
}

TransformerOptions transformer() {
  return {.size = 4, .hidden = 3, .heads = 2, .layers = 2, .dropout = 0.2f, .activation = gelu};
}

TransformerOptions norm_last() {
  TransformerOptions options = transformer();
  options.norm_first = false;
  options.causal = true;
  return options;
}

// ------------------------------------------------------------------------------------ entries

void add_maps(std::vector<LayerCase>& all) {
  all.push_back(map("Linear", 4, 3, [](Model& m) { return Linear(m, 4, 3); }));
  all.push_back(map("Linear without a bias", 4, 3,
                    [](Model& m) { return Linear(m, 4, 3, {.bias = false}); }));
  all.push_back(
      map("TiedLinear", 4, 6, [](Model& m) { return TiedLinear(m, Embedding(m, 6, 4)); }));
  all.push_back(map("MLP", 4, 2, [](Model& m) {
    return MLP(m, 4, {3, 2}, {.dropout = 0.3f, .activation = tanh});
  }));
  all.push_back(map("Highway", 4, 4,
                    [](Model& m) { return Highway(m, 4, {.layers = 2, .activation = tanh}); }));
  all.push_back(map("LayerNorm", 4, 4, [](Model& m) { return LayerNorm(m, 4); }));
  all.push_back(map("RMSNorm", 4, 4, [](Model& m) { return RMSNorm(m, 4, {.epsilon = 0.5f}); }));
  all.push_back(entry(
      "VariationalDropout", 4, {Dim({4, 3}), Dim({4})},
      [](Model&) { return VariationalDropout(0.4f); },
      [](const VariationalDropout& layer, const Expression& xs) {
        const VariationalDropout::Mask mask = layer.start(xs.graph("test"), 4);
        return list(mask(xs), mask(last_of(xs)));
      }));
  all.push_back(entry(
      "Residual", 4, {Dim({4, 3})}, [](Model& m) { return residual(m, "norm", transformer()); },
      [](const Residual& layer, const Expression& xs) {
        return list(layer(xs, [](const Expression& x) { return tanh(x); }));
      }));
  all.push_back(entry(
      "Conv1D", 4, {Dim({3, 3}), Dim({3, 3})},
      [](Model& m) { return Conv1D(m, 4, 3, {.width = 3, .padding = 1}); },
      [](const Conv1D& layer, const Expression& xs) {
        return list(layer(xs), layer(concatenate_to_batch({xs, sin(xs)})));
      }));
  all.back().dims[1].bd = 2;
  all.push_back(entry(
      "Conv1D with steps", 4, {Dim({3, 2})},
      [](Model& m) {
        return Conv1D(m, 4, 3, {.width = 2, .stride = 2, .dilation = 2, .padding = 1});
      },
      [](const Conv1D& layer, const Expression& xs) { return list(layer(xs)); }));
}

void add_tables(std::vector<LayerCase>& all) {
  const auto positions = [](const auto& layer, const Expression& xs) {
    return list(layer(xs), layer(xs, 1), layer(last_of(xs), 5));
  };
  all.push_back(entry(
      "Embedding", 0, {Dim({3}), Dim({3, 3}), Dim({3}, 3), Dim({3}), Dim({3})},
      [](Model& m) { return Embedding(m, 5, 3); },
      [](const Embedding& layer, const Expression& xs) {
        ComputationGraph& graph = xs.graph("test");
        const Rows rows = numbers_of(xs, 5);
        return list(layer(graph, rows[0]), layer.columns(graph, rows), layer.minibatch(graph, rows),
                    layer.sum(graph, rows), layer.mean(graph, rows));
      }));
  all.push_back(entry(
      "SinusoidalPositions", 3, {Dim({3, 3}), Dim({3, 3}), Dim({3})},
      [](Model&) { return SinusoidalPositions(9, 3); }, positions));
  all.push_back(entry(
      "LearnedPositions", 3, {Dim({3, 3}), Dim({3, 3}), Dim({3})},
      [](Model& m) { return LearnedPositions(m, 9, 3); }, positions));
  const auto read_word = [](const auto& layer, const Expression& xs) {
    return list(layer(xs.graph("test"), numbers_of(xs, 5)));
  };
  all.push_back(entry(
      "CharacterCNN", 0, {Dim({9})},
      [](Model& m) {
        return CharacterCNN(m, 5, 3, {.filters = {{1, 2}, {2, 4}, {4, 3}}});
      },
      read_word));
  all.push_back(entry(
      "CharacterLSTM", 0, {Dim({4})},
      [](Model& m) { return CharacterLSTM(m, 5, 3, {.hidden = 2}); }, read_word));
}

template <class Layer>
std::vector<Expression> read_along(const Layer& layer, const Expression& xs) {
  const auto start = layer.start(xs.graph("test"));
  return list(layer.step(start, first_of(xs)), layer(columns_of_matrix(xs)).back(), layer(xs));
}

void add_recurrent(std::vector<LayerCase>& all) {
  const Dim state({3}), states({3, 3});
  all.push_back(entry(
      "LSTM", 4, {state, state, state, state, states, states, states, states, states, states},
      [](Model& m) { return LSTM(m, 4, 3); },
      [](const LSTM& layer, const Expression& xs) {
        const CellState start = layer.start(xs.graph("test"));
        return list(read_along(layer, xs), layer.backwards(xs),
                    layer(xs, layer.step(start, last_of(xs))));
      }));
  all.push_back(entry(
      "GRU", 4, {state, state, states, states, states, state},
      [](Model& m) { return GRU(m, 4, 3); },
      [](const GRU& layer, const Expression& xs) {
        const Expression start = layer.step(layer.start(xs.graph("test")), last_of(xs));
        return list(read_along(layer, xs), layer.backwards(xs), layer(xs, start),
                    layer.step_without_input(start));
      }));
  all.push_back(entry(
      "StackedLSTM", 4, {state, state, state, state, state, state, state, state, states, states},
      [](Model& m) { return StackedLSTM(m, 4, 3, {.layers = 2, .dropout = 0.3f}); },
      [](const StackedLSTM& layer, const Expression& xs) { return read_along(layer, xs); }));
  all.push_back(entry(
      "StackedGRU", 4, {state, state, state, state, states},
      [](Model& m) { return StackedGRU(m, 4, 3, {.layers = 2, .dropout = 0.3f}); },
      [](const StackedGRU& layer, const Expression& xs) { return read_along(layer, xs); }));
  const auto both = [](const auto& layer, const Expression& xs) {
    const std::vector<Expression> columns = columns_of_matrix(xs);
    return list(layer(columns)[0], layer(xs), layer.final_states(columns), layer.final_states(xs));
  };
  const std::vector<Dim> dims = {Dim({6}), Dim({6, 3}), Dim({6}), Dim({6})};
  const StackOptions two = {.layers = 2, .dropout = 0.3f};
  all.push_back(entry(
      "BidirectionalLSTM", 4, dims, [=](Model& m) { return BidirectionalLSTM(m, 4, 3, two); },
      both));
  all.push_back(entry(
      "BidirectionalGRU", 4, dims, [=](Model& m) { return BidirectionalGRU(m, 4, 3, two); }, both));
  all.push_back(entry(
      "StackState", 4, {state, state, state, state}, [](Model& m) { return LSTM(m, 4, 3); },
      [](const LSTM& layer, const Expression& xs) {
        StackState stack(layer, layer.start(xs.graph("test")));
        for (const Expression& x : columns_of_matrix(xs)) stack.push(x);
        const Expression top = stack.top();
        stack.push(stack.pop() + 1.0f);
        StackState moved = std::move(stack);
        stack.push(moved.pop());
        return list(top, stack.top(), moved.state());
      }));
}

void add_trees(std::vector<LayerCase>& all) {
  const Dim state({3}), states({3, 3}), nodes({3, 5});
  all.push_back(entry(
      "TreeLSTM", 4, {state, state, state, state, nodes, nodes},
      [](Model& m) { return TreeLSTM(m, 4, 3); },
      [](const TreeLSTM& layer, const Expression& xs) {
        const Tree tree = tree_over(count_of(xs));
        const CellState leaf = layer.leaf(first_of(xs));
        return list(layer.inner(leaf, layer.leaf(last_of(xs))),
                    layer(tree, columns_of_matrix(xs)).back(), layer(tree, xs));
      }));
  const auto along = [](const auto& layer, const Expression& xs) {
    const CellState leaf = layer.node(first_of(xs)), other = layer.node(last_of(xs));
    const std::vector<CellState> one = {leaf}, two = {leaf, other};
    return list(leaf, layer.node(last_of(xs), one), layer.node(first_of(xs), two),
                layer(heads_bottom_up(heads_of(count_of(xs))), xs),
                layer(heads_top_down(heads_of(count_of(xs))), xs));
  };
  std::vector<Dim> dims(6, state);
  dims.insert(dims.end(), 4, states);
  all.push_back(entry(
      "ChildSumTreeLSTM", 4, dims, [](Model& m) { return ChildSumTreeLSTM(m, 4, 3); }, along));
  dims.insert(dims.end(), 2, state);
  all.push_back(entry(
      "NaryTreeLSTM", 4, dims, [](Model& m) { return NaryTreeLSTM(m, 4, 3, {.children = 8}); },
      [along](const NaryTreeLSTM& layer, const Expression& xs) {
        const std::vector<CellState> children = {layer.node(first_of(xs))};
        return list(along(layer, xs), layer.node(children));
      }));
}

void add_attention(std::vector<LayerCase>& all) {
  const auto look = [](const auto& layer, const Expression& xs) {
    const AttentionMemory memory = layer.read(xs), same = layer.read(columns_of_matrix(xs));
    const Attended found = layer.attend(memory, first_of(xs));
    return list(layer(memory, first_of(xs)), layer.weights(same, last_of(xs)), found.mean,
                found.weights);
  };
  const std::vector<Dim> dims = {Dim({4}), Dim({3}), Dim({4}), Dim({3})};
  all.push_back(entry(
      "DotAttention", 4, dims, [](Model&) { return DotAttention(); }, look));
  all.push_back(entry(
      "BilinearAttention", 4, dims, [](Model& m) { return BilinearAttention(m, 4, 4); }, look));
  all.push_back(entry(
      "AdditiveAttention", 4, dims,
      [](Model& m) { return AdditiveAttention(m, 4, 4, {.hidden = 3}); }, look));
  all.push_back(entry(
      "Coverage", 4, {Dim({4, 3}), Dim({1})}, [](Model& m) { return Coverage(m, 4); },
      [](const Coverage& layer, const Expression& xs) {
        const DotAttention attention;
        const AttentionMemory memory = attention.read(xs);
        const Expression first = attention.weights(memory, first_of(xs));
        const AttentionMemory next = layer(memory, first);
        const std::vector<Expression> both = {first, attention.weights(next, last_of(xs))};
        return list(next.keys, coverage_loss(both));
      }));
  all.push_back(entry(
      "CopyOutput", 4, {Dim({5}), Dim({1}), Dim({7}), Dim({1}), Dim({1})},
      [](Model& m) { return CopyOutput(m, 4, 5, {.means = 4}); },
      [](const CopyOutput& layer, const Expression& xs) {
        const DotAttention attention;
        const Attended found = attention.attend(attention.read(xs), first_of(xs));
        const Rows source = numbers_of(xs, 5);
        Rows own = source;  // of which the last words are not in the vocabulary
        own.back() = 5;
        if (own.size() > 1) own[own.size() - 2] = 6;
        return list(layer(first_of(xs), found, source), layer.loss(first_of(xs), found, source, 2),
                    layer(last_of(xs), found, own), layer.loss(last_of(xs), found, own, 5),
                    layer.loss(last_of(xs), found, own, 1));
      }));
  const auto heads = [](const MultiHeadAttention& layer, const Expression& xs) {
    const AttentionMemory memory = layer.read(xs), same = layer.read(columns_of_matrix(xs));
    return list(layer(xs), layer(same, first_of(xs)), layer.weights(memory, xs));
  };
  const std::vector<Dim> of_heads = {Dim({4, 3}), Dim({4}), Dim({2, 3, 3})};
  all.push_back(entry(
      "MultiHeadAttention", 4, of_heads,
      [](Model& m) { return MultiHeadAttention(m, 4, {.heads = 2}); }, heads));
  all.push_back(entry(
      "MultiHeadAttention that is causal", 4, of_heads,
      [](Model& m) { return MultiHeadAttention(m, 4, {.heads = 2, .causal = true}); }, heads));
  all.push_back(entry(
      "BiaffineArcs", 4, {Dim({1, 3}), Dim({3, 1})}, [](Model& m) { return BiaffineArcs(m, 4); },
      [](const BiaffineArcs& layer, const Expression& xs) {
        const Expression one = pick_range(xs, 0, 1, 1);
        return list(layer(one, xs), layer(xs, one));
      }));
  all.push_back(entry(
      "BiaffineLabels", 4, {Dim({5, 3}), Dim({5}), Dim({5, 1, 3})},
      [](Model& m) { return BiaffineLabels(m, 4, 5); },
      [](const BiaffineLabels& layer, const Expression& xs) {
        return list(layer(xs, sin(xs)), layer(first_of(xs), last_of(xs)),
                    layer.all_pairs(pick_range(xs, 0, 1, 1), xs));
      }));
}

void add_transformers(std::vector<LayerCase>& all) {
  const auto encode = [](const auto& layer, const Expression& xs) {
    return list(layer(xs), layer(last_of(xs)));
  };
  const auto decode = [](const auto& layer, const Expression& xs) {
    const Expression source = sin(xs);
    auto state = layer.start(source);
    for (const Expression& x : columns_of_matrix(xs)) state = layer.step(state, x);
    return list(layer(xs, source), layer(xs, last_of(source)), state.h,
                pick_batch_elems(state, {0, 0}).h);
  };
  const std::vector<Dim> encoded = {Dim({4, 3}), Dim({4})};
  const std::vector<Dim> decoded = {Dim({4, 3}), Dim({4, 3}), Dim({4}), Dim({4}, 2)};
  for (const auto& form : {std::pair("", transformer()), {" with the norm last", norm_last()}}) {
    const auto add = [&, options = form.second]<class Layer>(const std::string& name,
                                                             std::type_identity<Layer>,
                                                             const auto& dims, const auto& use) {
      all.push_back(entry(
          name + form.first, 4, dims, [options](Model& m) { return Layer(m, options); }, use));
    };
    add("TransformerEncoderLayer", std::type_identity<TransformerEncoderLayer>(), encoded, encode);
    add("TransformerEncoder", std::type_identity<TransformerEncoder>(), encoded, encode);
    add("TransformerDecoderLayer", std::type_identity<TransformerDecoderLayer>(), decoded, decode);
    add("TransformerDecoder", std::type_identity<TransformerDecoder>(), decoded, decode);
  }
}

}  // namespace

}  // namespace layer_entries

const std::vector<LayerCase>& layer_cases() {
  static const std::vector<LayerCase> all = [] {
    std::vector<LayerCase> cases;
    using namespace layer_entries;
    for (const auto add : {add_maps, add_tables, add_recurrent, add_trees, add_attention,
                           add_transformers, add_encoders, add_structured}) {
      add(cases);
    }
    return cases;
  }();
  return all;
}

}  // namespace dynet_like::nn
