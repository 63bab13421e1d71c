// Options of attention.
#pragma once

namespace dynet_like {

struct AttentionOptions {
  unsigned heads = 1;
  /// Query i attends to keys 0 to i.
  bool causal = false;
  /// If above 0, query i attends only to the keys i - reach to i + reach (Beltagy et al. 2020).
  unsigned reach = 0;
  /// The dropout rate of the weights, at least 0 and below 1; there is none in inference.
  float dropout = 0;
};

}  // namespace dynet_like
