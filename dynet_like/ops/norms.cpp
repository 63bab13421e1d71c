// Norms along a dimension, and layer normalisation.
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::ops {

const Op norm_dim = [] {
  Op op = along_axis("norm_dim",
                     "sqrt(x1^2 + x2^2 + ...) along a dimension, which disappears; dy/dx = x / y, "
                     "but 0 at 0",
                     Needs::inputs_and_output, cost_per_element<1>);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("norm_dim", in, attributes);
    return without_axis(in, attributes);
  };
  return op;
}();

const Op rms_dim = [] {
  Op op = along_axis("rms_dim",
                     "sqrt((x1^2 + ... + xn^2) / n) along a dimension, which disappears; dy/dx = x "
                     "/ (n y), but 0 at 0",
                     Needs::inputs_and_output, cost_per_element<1>);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("rms_dim", in, attributes);
    return without_axis(in, attributes);
  };
  return op;
}();

const Op layer_norm = [] {
  Op op;
  op.name = "layer_norm";
  op.formula =
      "g (x - mean) / max(deviation, 1e-12) + b for every column, or what is along dimension 0 "
      "(Ba et al. 2016)";
  op.min_inputs = op.max_inputs = 3;
  op.join = [](unsigned input, Attributes) { return input == 0 ? Join::stacked : Join::broadcast; };
  op.needs = Needs::inputs;
  op.shape = [](Inputs in, Attributes) {
    for (const Dim& vector : in.subspan(1)) {
      if (vector.rows() == in[0].rows() && vector.size() == vector.rows()) continue;
      throw_shape_error("layer_norm", "{n}, or {n} columns, and twice {n}", in);
    }
    return in[0];
  };
  op.shared_gradient = [](const Signature&, unsigned input) {
    return input == 0 ? SharedGradient::dense : SharedGradient::sum;
  };
  // The mean's distance to the first number, and what differences are multiplied with, of every
  // column.
  op.saved_size = [](const Signature& type) -> std::size_t {
    return 2 * (type.inputs[0].size() / type.inputs[0].rows());
  };
  // For g, and then for b.
  op.deferred_size = [](const Signature& type) -> std::size_t { return 2 * type.inputs[1].size(); };
  op.deferred_offset = [](const Signature& type, unsigned input) -> std::size_t {
    return input == 2 ? type.inputs[1].size() : 0;
  };
  op.cost = cost_per_element<10>;
  op.cases = [] {
    return std::vector<OpCase>{{{Dim({5}), Dim({5}), Dim({5})}},
                               {{Dim({37}), Dim({37}), Dim({37})}},
                               {{Dim({6, 3}), Dim({6}), Dim({6})}},
                               {{Dim({19, 4}), Dim({19}), Dim({19})}},
                               {{Dim({3, 2, 2}), Dim({3}), Dim({3})}}};
  };
  op.bad_cases = [] {
    return std::vector<OpCase>{{{Dim({5}), Dim({4}), Dim({5})}},
                               {{Dim({5}), Dim({5}), Dim({4})}},
                               {{Dim({5, 3}), Dim({5, 3}), Dim({5})}}};
  };
  return op;
}();

}  // namespace dynet_like::ops
