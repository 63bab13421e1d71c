// The list of models.
#include "bench/dynet_style/models.h"

#include <stdexcept>

namespace dynet_like::bench {

const std::vector<DyNetModelKind>& all_dynet_models() {
  static const std::vector<DyNetModelKind> models = {
      {"tree_lstm", {128}, make_dynet_tree_lstm, true},
      {"tree_lstm_own_forget", {64, 128, 256}, make_dynet_tree_lstm_own_forget, true},
      {"tree_gru", {128}, make_dynet_tree_gru, true},
      {"tagger", {50, 256}, make_dynet_tagger, true},
      {"tagger_with_builders", {50}, make_dynet_tagger_with_builders, false},
      {"char_tagger", {128}, make_dynet_char_tagger, true},
      {"lattice_lstm", {128}, make_dynet_lattice_lstm, true},
      {"random_dag", {128}, make_dynet_random_dag, true}};
  return models;
}

const DyNetModelKind& dynet_model(const std::string& name) {
  for (const DyNetModelKind& kind : all_dynet_models()) {
    if (name == kind.name) return kind;
  }
  throw std::invalid_argument("there is no model \"" + name + "\"");
}

}  // namespace dynet_like::bench
