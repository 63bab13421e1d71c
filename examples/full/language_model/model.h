// The language model: vectors of units, LSTMs, and a linear map to the scores of the next unit.
#pragma once

#include <cstdint>
#include <span>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

namespace dynet_like::examples {

struct ModelOptions {
  unsigned units = 0;  ///< number of different characters or words
  unsigned embedding = 64, hidden = 256, layers = 2;
  float dropout = 0.2f;  ///< for the outputs of every layer
};

/// Predicts every unit of a text from the units before it.
class LanguageModel {
 public:
  using State = nn::StackedLSTM::State;

  LanguageModel(ParameterCollection& parameters, const ModelOptions& options)
      : embedding_(parameters, options.units, options.embedding),
        lstm_(parameters, options.embedding, options.hidden,
              {.layers = options.layers, .dropout = options.dropout, .name = "lstm"}),
        output_(parameters, options.hidden, options.units, {.name = "output"}),
        dropout_(options.dropout) {}

  State start(ComputationGraph& graph) const { return lstm_.start(graph); }
  /// The state after one more unit.
  State step(const State& before, std::uint32_t unit) const {
    return lstm_.step(before, embedding_[unit]);
  }
  /// The scores of the next unit. Shapes: {units}.
  Expression scores(const State& state) const { return output_(dropout(state.back().h, dropout_)); }

  struct Reading {
    Expression loss;  ///< the sum over all predictions, in nats
    State end;
  };
  /// Predicts all units but the first, of at least two; the last is not read. It is the loop that
  /// one would write for a single text.
  Reading read(State state, std::span<const std::uint32_t> units) const {
    std::vector<Expression> losses;
    for (std::size_t i = 0; i + 1 < units.size(); ++i) {
      state = step(state, units[i]);
      losses.push_back(cross_entropy(scores(state), units[i + 1]));
    }
    return {sum(losses), std::move(state)};
  }

  unsigned layers() const { return lstm_.layers(); }
  unsigned hidden() const { return lstm_.hidden(); }

 private:
  nn::Embedding embedding_;
  nn::StackedLSTM lstm_;
  nn::Linear output_;
  float dropout_;
};

}  // namespace dynet_like::examples
