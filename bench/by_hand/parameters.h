// The initial parameters of models by hand: those of the library's model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/by_hand/kernels.h"
#include "bench/models/workload.h"

namespace dynet_like::bench::by_hand {

/// The values of a parameter of the model.
std::vector<float> values_of(Workload& model, const std::string& name);
Weight weight_of(Queue& queue, Workload& model, const std::string& name);
/// Columns [first, end) of a parameter.
Weight columns_of(Queue& queue, Workload& model, const std::string& name, unsigned first,
                  unsigned end);

/// A table of word vectors.
class Table {
 public:
  explicit Table(Workload& model)
      : size_(model.parameters().find("/embedding/E")->dim.rows()),
        values_(values_of(model, "/embedding/E")) {}

  std::span<const float> values() const { return values_; }
  /// The number of elements of a row.
  std::size_t size() const { return size_; }
  Places rows(std::span<const unsigned> words) const;
  /// A step of gradient descent. `gradients` are contiguous, one for every word. Only the rows of
  /// these words change. A word may occur several times.
  void update(std::span<const unsigned> words, const float* gradients, float rate);

 private:
  std::size_t size_;
  std::vector<float> values_;
};

}  // namespace dynet_like::bench::by_hand
