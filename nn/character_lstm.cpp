// CharacterLSTM: embeddings of the characters, and the final states of both directions.
#include "nn/character_lstm.h"

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

CharacterLSTM::CharacterLSTM(ParameterCollection& model, unsigned characters, unsigned size,
                             const CharacterLSTMOptions& options)
    : own_(add_layer(model, options.name, "character_lstm")),
      embedding_(own_, characters, size, {.name = "characters"}),
      lstm_(own_, size, required("CharacterLSTM", "hidden", options.hidden), {.name = "lstm"}) {}

Expression CharacterLSTM::operator()(ComputationGraph& graph, ListOf<std::uint32_t> word) const {
  if (word.size() == 0) throw UsageError("[CharacterLSTM] need at least 1 character; got 0");
  return lstm_.final_states(embedding_.columns(graph, word));
}

}  // namespace dynet_like::nn
