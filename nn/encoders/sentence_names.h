// Names in the files of Sentence Transformers.
#pragma once

#include <array>
#include <string_view>

#include "nn/activation.h"
#include "nn/encoders/pooling.h"
#include "nn/text/json_entry.h"

namespace dynet_like::nn::encoders {

struct PoolingName {
  Pooling pooling;
  const char* name;
  const char* flag;  ///< the key that turns it on in older files
};

/// In the order in which the results of older files are joined.
inline constexpr std::array<PoolingName, 6> kPoolings = {
    {{Pooling::first, "cls", "pooling_mode_cls_token"},
     {Pooling::max, "max", "pooling_mode_max_tokens"},
     {Pooling::mean, "mean", "pooling_mode_mean_tokens"},
     {Pooling::mean_sqrt, "mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"},
     {Pooling::weighted_mean, "weightedmean", "pooling_mode_weightedmean_tokens"},
     {Pooling::last, "lasttoken", "pooling_mode_lasttoken"}}};

/// Throws FileError for an unknown name.
Pooling read_pooling(const JsonEntry& name);
/// By the name of PyTorch's class, such as "Tanh"; null for an unknown one.
Activation find_sentence_activation(std::string_view name);

}  // namespace dynet_like::nn::encoders
