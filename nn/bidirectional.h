// Bidirectional: recurrent layers that read a sequence from both ends.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"
#include "nn/gru.h"
#include "nn/layer_options.h"
#include "nn/lstm.h"

namespace dynet_like::nn {

/// Each layer has a recurrent layer that reads from first to last and one that reads from last to
/// first (Schuster and Paliwal 1997; Graves and Schmidhuber 2005). The output at a position
/// concatenates both, the forward one first; the next layer reads these outputs, with dropout.
/// `Recurrent` is LSTM, GRU, or a class with the same members.
template <class Recurrent>
class Bidirectional {
 public:
  /// Adds the layers "forward" and "backward" ("forward_1" and so on for a second layer) to a
  /// subcollection of `model`, by default "bidirectional_lstm" or "bidirectional_gru". Throws
  /// ShapeError for size 0, UsageError for no layers.
  Bidirectional(ParameterCollection& model, unsigned inputs, unsigned hidden,
                const StackOptions& options = {})
      : dropout_(options.dropout) {
    if (options.layers == 0) throw UsageError("[Bidirectional] need at least 1 layer; got 0");
    ParameterCollection own =
        add_layer(model, options.name, std::string("bidirectional_") + Recurrent::kName);
    for (unsigned layer = 0; layer < options.layers; ++layer) {
      const unsigned size = layer == 0 ? inputs : 2 * hidden;
      const Recurrent forward(own, size, hidden, {.name = "forward"});
      layers_.push_back({forward, Recurrent(own, size, hidden, {.name = "backward"})});
    }
  }
  // Moving copies, so that a moved-from object still has its layers.
  Bidirectional(const Bidirectional&) = default;
  Bidirectional& operator=(const Bidirectional&) = default;

  /// The outputs of the last layer at every position; an empty vector for no inputs. Shapes:
  /// {inputs} ->
  /// {2 * hidden}. Throws ShapeError unless the inputs fit.
  std::vector<Expression> operator()(std::span<const Expression> xs) const {
    return inputs_of(layers_.size(), xs);
  }

  /// The same for elements that are the columns of a matrix, with one node per direction and layer.
  /// Shapes: {inputs, n} -> {2 * hidden, n}. Throws ShapeError unless xs fits.
  template <std::same_as<Expression> Matrix>
  Expression operator()(Matrix xs) const {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      xs = outputs(layers_[i], xs);
      if (i + 1 < layers_.size()) xs = dropout(xs, dropout_);
    }
    return xs;
  }

  /// The whole sequence as one vector: the last layer's forward output after the last element, and
  /// its backward output after the first. Shapes: {inputs} -> {2 * hidden}. Throws UsageError for
  /// no inputs.
  Expression final_states(std::span<const Expression> xs) const {
    if (xs.empty()) throw UsageError("[Bidirectional] need at least 1 input; got 0");
    const std::vector<Expression> inputs = inputs_of(layers_.size() - 1, xs);
    return concatenate({Recurrent::output(layers_.back().forward(inputs).back()),
                        Recurrent::output(layers_.back().backward(reversed(inputs)).back())});
  }

  /// The same for elements that are the columns of a matrix. Shapes: {inputs, n} -> {2 * hidden}.
  template <std::same_as<Expression> Matrix>
  Expression final_states(Matrix xs) const {
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
      xs = dropout(outputs(layers_[i], xs), dropout_);
    }
    return concatenate({Recurrent::output(layers_.back().forward(xs).last()),
                        Recurrent::output(layers_.back().backward.backwards(xs)[0])});
  }

  /// The size of one direction's output.
  unsigned hidden() const { return layers_.front().forward.hidden(); }
  /// The size of an output: that of both directions.
  unsigned outputs() const { return 2 * hidden(); }

 private:
  struct Layer {
    Recurrent forward, backward;
  };

  static Expression outputs(const Layer& layer, const Expression& xs) {
    return concatenate({Recurrent::output(layer.forward(xs).all()),
                        Recurrent::output(layer.backward.backwards(xs).all())});
  }

  static std::vector<Expression> reversed(const std::vector<Expression>& xs) {
    return {xs.rbegin(), xs.rend()};
  }

  /// The inputs of a layer; for the number after the last, the outputs.
  std::vector<Expression> inputs_of(std::size_t layer, std::span<const Expression> xs) const {
    std::vector<Expression> inputs(xs.begin(), xs.end());
    for (std::size_t i = 0; i < layer; ++i) {
      const auto forward = layers_[i].forward(inputs);
      const auto backward = layers_[i].backward(reversed(inputs));
      for (std::size_t t = 0; t < inputs.size(); ++t) {
        inputs[t] = concatenate(
            {Recurrent::output(forward[t]), Recurrent::output(backward[inputs.size() - 1 - t])});
      }
      if (i + 1 == layers_.size()) break;  // no layer reads these
      for (Expression& input : inputs) input = dropout(input, dropout_);
    }
    return inputs;
  }

  std::vector<Layer> layers_;
  float dropout_;
};

using BidirectionalLSTM = Bidirectional<LSTM>;
using BidirectionalGRU = Bidirectional<GRU>;

}  // namespace dynet_like::nn
