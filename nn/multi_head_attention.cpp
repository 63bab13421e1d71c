// MultiHeadAttention: four linear maps around one call of attention.
#include "nn/multi_head_attention.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

namespace {

unsigned checked_heads(unsigned size, unsigned heads) {
  if (size % required("MultiHeadAttention", "heads", heads) != 0) {
    throw ShapeError("[MultiHeadAttention] need a size that is a multiple of heads; got " +
                     std::to_string(size) + " and " + std::to_string(heads));
  }
  return heads;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(ParameterCollection& model, unsigned size,
                                       const MultiHeadAttentionOptions& options)
    : heads_(checked_heads(size, options.heads)),
      causal_(options.causal),
      own_(add_layer(model, options.name, "attention")),
      query_(own_, size, size, {.name = "query"}),
      key_(own_, size, size, {.name = "key"}),
      value_(own_, size, size, {.name = "value"}),
      output_(own_, size, size, {.name = "output"}) {}

AttentionMemory MultiHeadAttention::read(const Expression& states) const {
  return {key_(states), value_(states)};
}

AttentionMemory MultiHeadAttention::read(std::span<const Expression> states) const {
  return read(columns_of(states));
}

Expression MultiHeadAttention::operator()(const AttentionMemory& memory,
                                          const Expression& queries) const {
  return output_(attention(query_(queries), memory.keys, memory.values, {.heads = heads_}));
}

Expression MultiHeadAttention::weights(const AttentionMemory& memory,
                                       const Expression& queries) const {
  return attention_weights(query_(queries), memory.keys, heads_);
}

Expression MultiHeadAttention::operator()(const Expression& x) const {
  return output_(attention(query_(x), key_(x), value_(x), {.heads = heads_, .causal = causal_}));
}

}  // namespace dynet_like::nn
