// The list of models.
#include "bench/models/models.h"

#include <stdexcept>

namespace dynet_like::bench {

const std::vector<ModelKind>& all_models() {
  static const std::vector<ModelKind> models = {
      {"tree_lstm", {50, 64, 128, 256}, "trees.txt", make_tree_lstm, true},
      {"tree_lstm_own_forget", {50, 64, 128, 256}, "trees.txt", make_tree_lstm_own_forget, true},
      {"tagger", {50, 64, 128, 256}, "tagger.txt", make_tagger},
      {"language_model", {256}, "language_model.txt", make_language_model},
      {"char_tagger", {128}, nullptr, make_char_tagger},
      {"tree_gru", {128}, nullptr, make_tree_gru},
      {"lattice_lstm", {128}, nullptr, make_lattice_lstm},
      {"random_dag", {128}, nullptr, make_random_dag}};
  return models;
}

std::unique_ptr<Workload> make_model(const std::string& name, unsigned hidden, Form form) {
  for (const ModelKind& model : all_models()) {
    if (name == model.name) return model.make(hidden, form);
  }
  throw std::invalid_argument("there is no model \"" + name + "\"");
}

}  // namespace dynet_like::bench
