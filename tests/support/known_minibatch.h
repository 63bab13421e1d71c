// A small minibatch that uses many features, and its bits, to compare between devices and settings.
#pragma once

#include <cstddef>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "dynet_like/tape/tape.h"
#include "nn/nn.h"
#include "tests/support/device_memory.h"

namespace dynet_like {

/// Parameters, tables and layers of a small model, drawn from one seed.
struct KnownModel {
  static constexpr unsigned kWords = 10, kWidth = 4;

  ParameterCollection collection;
  nn::LSTM lstm{collection, kWidth, kWidth};
  nn::TreeLSTM tree{collection, kWidth, kWidth};
  LookupParameter words = collection.add_lookup_parameters(kWords, {kWidth});
  Parameter w = collection.add_parameters({kWidth, kWidth});
  Parameter bias = collection.add_parameters({kWidth}, ParameterInitConst(0.1f));

  std::vector<std::byte> bytes() const { return bytes_of(collection); }

  // The words of a sentence, multiplied by a value of a parameter that all samples share, then an
  // LSTM and a Tree-LSTM; a range of its list of outputs, the table as a whole, and inputs of odd
  // shapes.
  Expression loss_of(ComputationGraph& graph, std::size_t sample) const {
    const auto s = static_cast<unsigned>(sample);
    const Expression shared = tanh(parameter(graph, w));
    nn::LSTM::State state = lstm.start(graph);
    std::vector<Expression> outputs;
    std::vector<nn::TreeLSTM::State> leaves;
    for (unsigned i = 0; i < 3 + s % 3; ++i) {
      Expression x = lookup(graph, words, (3 * s + i) % kWords);
      if (graph.record().tape().random.seed.has_value()) x = dropout(x, 0.25f);
      state = lstm.step(state, shared * x);
      outputs.push_back(state.h);
      leaves.push_back(tree.leaf(x));
      if (leaves.size() > 1) {
        leaves.back() = tree.inner(leaves[leaves.size() - 2], leaves.back());
      }
    }
    const Expression list = concatenate(outputs);
    const Expression part = pick_range(list, s % 4, s % 4 + 3 + s % 2);
    const Expression scores = affine_transform(
        {parameter(graph, bias), exp(parameter(graph, w)), leaves.back().h + state.h});
    const Expression odd = input(graph, Dim({1 + s % 3}), std::vector<float>(1 + s % 3, 0.5f));
    return cross_entropy(scores, s % kWidth) + sum_elems(square(part)) +
           sum_elems(cmult(shared, exp(parameter(graph, w)))) + sum_elems(exp(odd)) +
           sum_elems(parameter(graph, words)) * 0.01f;
  }
};

/// The results of a minibatch, its loss and the gradients of all parameters, to compare bit by bit.
struct Bits {
  float loss = 0;
  std::vector<std::vector<float>> gradients;

  bool operator==(const Bits&) const = default;

  static Bits of(const KnownModel& model, float loss, const Gradients* gradients) {
    Bits bits;
    bits.loss = loss;
    if (gradients == nullptr) return bits;
    for (const auto& storage : model.collection.storages()) {
      if (!storage->is_table) {
        bits.gradients.push_back(gradients->values(Parameter(storage)));
        continue;
      }
      for (unsigned row = 0; row < storage->rows(); ++row) {
        bits.gradients.push_back(gradients->values(LookupParameter(storage), row));
      }
    }
    return bits;
  }
};

}  // namespace dynet_like
