// CharacterLSTM: an embedding per character, and the final states of both directions.
#include "nn/character_lstm.h"

#include <vector>

namespace dynet_like::nn {

CharacterLSTM::CharacterLSTM(ParameterCollection& model, unsigned characters, unsigned size,
                             unsigned hidden, const std::string& name)
    : own_(model.add_subcollection(name)),
      embedding_(own_, characters, size, "characters"),
      lstm_(own_, size, hidden, 1, 0, "lstm") {}

Expression CharacterLSTM::operator()(ComputationGraph& graph, ListOf<std::uint32_t> word) const {
  std::vector<Expression> characters;
  characters.reserve(word.size());
  for (const std::uint32_t character : word) characters.push_back(embedding_(graph, character));
  return lstm_.final_states(characters);
}

}  // namespace dynet_like::nn
