// The op table, and what shape rules have in common.
#include "dynet_like/ops/op.h"

#include <sstream>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/special_formulas.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

std::span<const Op* const> all_ops() {
  static const std::vector<const Op*> table = [] {
    std::vector<const Op*> result = {&ops::input,
                                     &ops::parameter,
                                     &ops::lookup_parameter,
                                     &ops::constant,
                                     &ops::lookup,
                                     &ops::matrix_product,
                                     &ops::affine_transform,
                                     &ops::dot_product,
                                     &ops::squared_distance,
                                     &ops::inverse,
                                     &ops::logdet,
                                     &ops::lstm_cell,
                                     &ops::gru_cell,
                                     &ops::sum,
                                     &ops::average,
                                     &ops::sum_dim,
                                     &ops::mean_dim,
                                     &ops::norm_dim,
                                     &ops::rms_dim,
                                     &ops::layer_norm,
                                     &ops::max_dim,
                                     &ops::argmax,
                                     &ops::cumsum,
                                     &ops::logsumexp_dim,
                                     &ops::select,
                                     &ops::kmax_pooling,
                                     &ops::hinge,
                                     &ops::sparsemax,
                                     &ops::sparsemax_loss,
                                     &ops::constrained_softmax,
                                     &ops::poisson_loss,
                                     &ops::identity,
                                     &ops::concatenate,
                                     &ops::pick_range,
                                     &ops::transpose,
                                     &ops::softmax,
                                     &ops::log_softmax,
                                     &ops::pickneglogsoftmax,
                                     &ops::dropout,
                                     &ops::random_uniform,
                                     &ops::random_normal,
                                     &ops::random_bernoulli,
                                     &ops::random_gumbel};
    formulas::visit_all([&]<class F>() { result.push_back(&elementwise<F>); });
    return result;
  }();
  return table;
}

void throw_shape_error(std::string_view op, std::string_view rule, std::span<const Dim> got) {
  constexpr std::size_t kMost = 8;
  std::ostringstream message;
  message << '[' << op << "] need " << rule << "; got";
  std::size_t at = 0;
  for (std::size_t shown = 0; at < got.size() && shown < kMost; ++shown) {
    std::size_t end = at + 1;
    while (got.size() > kMost && end < got.size() && got[end] == got[at]) ++end;
    message << ' ' << got[at];
    if (end - at > 1) message << " (" << end - at << " times)";
    at = end;
  }
  if (at < got.size()) message << " and " << got.size() - at << " more";
  throw ShapeError(message.str());
}

Axis::Axis(const Dim& dim, unsigned d) : n(dim[d]) {
  for (unsigned i = 0; i < dim.nd; ++i) {
    if (i < d) inner *= dim.d[i];
    if (i > d) outer *= dim.d[i];
  }
}

}  // namespace dynet_like
