// Rotation: tables of sines, and a product with each.
#include "nn/encoders/rotation.h"

#include <cmath>
#include <vector>

#include "dynet_like/ops/ops.h"

namespace dynet_like::nn::encoders {

Rotation::Rotation(ComputationGraph& graph, const EncoderConfig& config, unsigned positions,
                   float theta) {
  const unsigned rows = config.size / config.heads, half = rows / 2;
  std::vector<float> cosines, sines;
  cosines.reserve(std::size_t{3} * config.size * positions);
  sines.reserve(cosines.capacity());
  for (unsigned position = 0; position < positions; ++position) {
    for (unsigned head = 0; head < 2 * config.heads; ++head) {
      for (unsigned row = 0; row < rows; ++row) {
        const double exponent = 2.0 * (row % half) / rows;
        const double angle = position / std::pow(static_cast<double>(theta), exponent);
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(static_cast<float>(row < half ? -std::sin(angle) : std::sin(angle)));
      }
    }
    cosines.insert(cosines.end(), config.size, 1.0f);
    sines.insert(sines.end(), config.size, 0.0f);
  }
  const Dim dim({rows}, 3 * config.heads * positions);
  cosines_ = input(graph, dim, cosines);
  sines_ = input(graph, dim, sines);
}

Expression Rotation::operator()(const Expression& all) const {
  const unsigned rows = cosines_.dim().rows();
  const Expression heads = reshape(all, cosines_.dim());
  const Expression other =
      concatenate({pick_range(heads, rows / 2, rows), pick_range(heads, 0, rows / 2)});
  return reshape(cmult(heads, cosines_) + cmult(other, sines_), all.dim());
}

}  // namespace dynet_like::nn::encoders
