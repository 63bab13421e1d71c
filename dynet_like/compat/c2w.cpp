// C2WBuilder.
#include "dynet/c2w.h"

#include <algorithm>
#include <string>

#include "dynet_like/core/errors.h"

namespace dynet {

using dynet_like::UsageError;

namespace {

unsigned checked_size(int vocab_size) {
  if (vocab_size <= 0) {
    throw UsageError("[C2WBuilder] need at least one character; got " + std::to_string(vocab_size));
  }
  return static_cast<unsigned>(vocab_size);
}

}  // namespace

C2WBuilder::C2WBuilder(int vocab_size, unsigned layers, unsigned input_dim, unsigned hidden_dim,
                       ParameterCollection& m)
    : local_model(m.add_subcollection("c2w-builder")),
      fc2w(layers, input_dim, hidden_dim, local_model),
      rc2w(layers, input_dim, hidden_dim, local_model),
      p_lookup(local_model.add_lookup_parameters(checked_size(vocab_size), {input_dim})) {}

void C2WBuilder::new_graph(ComputationGraph* cg) {
  words.clear();
  fc2w.new_graph(*cg);
  rc2w.new_graph(*cg);
}

VariableIndex C2WBuilder::add_word(int word_id, const std::vector<int>& chars,
                                   ComputationGraph* cg) {
  if (const auto known = words.find(word_id); known != words.end()) return known->second;
  if (chars.empty()) {
    throw UsageError("[add_word] need characters; got none for word " + std::to_string(word_id));
  }
  std::vector<Expression> xs;
  for (const int character : chars) {
    if (character < 0) {
      throw UsageError("[add_word] need characters of at least 0; got " +
                       std::to_string(character));
    }
    xs.push_back(lookup(*cg, p_lookup, static_cast<unsigned>(character)));
  }
  fc2w.start_new_sequence();
  for (const Expression& x : xs) fc2w.add_input(x);
  rc2w.start_new_sequence();
  std::for_each(xs.rbegin(), xs.rend(), [&](const Expression& x) { rc2w.add_input(x); });
  return words[word_id] = concatenate({fc2w.back(), rc2w.back()}).i;
}

}  // namespace dynet
