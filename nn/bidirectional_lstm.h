// BidirectionalLSTM: layers that read a sequence from both ends.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynet_like/graph/expression.h"
#include "dynet_like/params/parameter_collection.h"
#include "nn/dropout.h"
#include "nn/lstm.h"

namespace dynet_like::nn {

/// Per layer two LSTMs, one that reads from the first element to the last and one that reads from
/// the last to the first (Schuster and Paliwal 1997; Graves and Schmidhuber 2005). A position has
/// both outputs, the forward one before the other; a layer reads those of the layer below, in
/// training with dropout.
class BidirectionalLSTM {
 public:
  /// Adds the layers "forward" and "backward", for a second layer "forward_1" and so on, to a
  /// subcollection of `model`. Throws ShapeError for size 0, UsageError for no layers
  /// and unless 0 <= dropout < 1.
  BidirectionalLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                    unsigned layers = 1, float dropout = 0,
                    const std::string& name = "bidirectional_lstm");
  // To move is to copy: it never has no layers.
  BidirectionalLSTM(const BidirectionalLSTM&) = default;
  BidirectionalLSTM& operator=(const BidirectionalLSTM&) = default;

  /// The outputs of the last layer at every position; none for no inputs. Shapes: {inputs} ->
  /// {2 * hidden}. Throws ShapeError unless the inputs fit.
  std::vector<Expression> operator()(std::span<const Expression> xs, bool training = false) const;
  /// A whole sequence as one vector: of the last layer, the forward output after the last element
  /// and the backward output after the first. Shapes: {inputs} -> {2 * hidden}. Throws UsageError
  /// for no inputs.
  Expression final_states(std::span<const Expression> xs, bool training = false) const;

  /// Of one direction.
  unsigned hidden() const { return layers_.front().forward.hidden(); }

 private:
  struct Layer {
    LSTM forward, backward;
  };

  /// What a layer reads; after the last one, the outputs.
  std::vector<Expression> inputs_of(std::size_t layer, std::span<const Expression> xs,
                                    bool training) const;

  std::vector<Layer> layers_;
  Dropout dropout_;
};

}  // namespace dynet_like::nn
