// DyNet's nodes-lstm.h. The steps of an LSTM, as node classes for add_function.
#pragma once

#include <cstddef>

#include "dynet/function-node.h"
#include "dynet_like/core/counted.h"

namespace dynet {

/// The arguments: the inputs, h, Wx, Wh, b, and the two masks if there are any.
struct VanillaLSTMGates : detail::FunctionNode {
  explicit VanillaLSTMGates(bool dropout, real weightnoise_std = 0.0f)
      : FunctionNode([=](const Arguments& xs) {
          const std::size_t others = dropout ? 6 : 4;
          if (xs.size() <= others) {
            DYNET_LIKE_THROW(UsageError, "[VanillaLSTMGates] need more than "
                                             << dynet_like::detail::counted(others, "argument")
                                             << "; got " << xs.size());
          }
          const auto first = xs.end() - static_cast<std::ptrdiff_t>(others);
          const Arguments inputs(xs.begin(), first);
          return dropout ? vanilla_lstm_gates_dropout_concat(inputs, first[0], first[1], first[2],
                                                             first[3], first[4], first[5],
                                                             weightnoise_std)
                         : vanilla_lstm_gates_concat(inputs, first[0], first[1], first[2], first[3],
                                                     weightnoise_std);
        }) {}
};
struct VanillaLSTMC : detail::BinaryNode<vanilla_lstm_c> {};
struct VanillaLSTMH : detail::BinaryNode<vanilla_lstm_h> {};

}  // namespace dynet
