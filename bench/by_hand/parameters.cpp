// Copies of the model's parameters.
#include "bench/by_hand/parameters.h"

namespace dynet_like::bench::by_hand {

std::vector<float> values_of(Workload& model, const std::string& name) {
  return as_vector(model.parameters().find(name)->tensor());
}

Weight weight_of(Queue& queue, Workload& model, const std::string& name) {
  return Weight(queue, name, model.parameters().find(name)->dim, values_of(model, name));
}

// A matrix is stored column by column.
Weight columns_of(Queue& queue, Workload& model, const std::string& name, unsigned first,
                  unsigned end) {
  const std::vector<float> all = values_of(model, name);
  const unsigned height = model.parameters().find(name)->dim.rows();
  const auto column = [&](std::size_t c) { return all.begin() + static_cast<long>(c * height); };
  return Weight(queue, name, Dim({height, end - first}), {column(first), column(end)});
}

Places Table::rows(std::span<const unsigned> words) const {
  return places(0, words.size(), [&](std::size_t v) { return values_.data() + words[v] * size_; });
}

// Adds the changes of the words one after the other, which is the same as changing by the sum of
// their gradients.
void Table::update(std::span<const unsigned> words, const float* gradients, float rate) {
  for (std::size_t v = 0; v < words.size(); ++v) {
    float* row = values_.data() + words[v] * size_;
    descend(row, gradients + v * size_, size_, rate);
  }
}

}  // namespace dynet_like::bench::by_hand
