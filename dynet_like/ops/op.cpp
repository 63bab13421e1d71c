// Helpers of shape rules.
#include "dynet_like/ops/op.h"

#include <algorithm>
#include <sstream>

#include "dynet_like/core/errors.h"

namespace dynet_like::ops {

void throw_shape_error(std::string_view op, std::string_view rule, std::span<const Dim> got) {
  constexpr std::size_t kMost = 8;
  std::ostringstream message;
  message << '[' << op << "] need " << rule << "; got" << (got.empty() ? " none" : "");
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

std::uint64_t leading_pairs(const Signature& type, unsigned first, std::uint64_t ready) {
  std::uint64_t inputs = 0;
  for (unsigned w = first; w + 3 < type.inputs.size(); w += 2) {
    const std::uint64_t x = std::uint64_t{1} << (w + 1);
    if (type.shared[w] == 0 || (ready & x) == 0) break;
    inputs |= x;
  }
  return inputs;
}

std::string shapes_text(const Signature& type) {
  std::ostringstream out;
  const std::size_t shown = std::min<std::size_t>(type.inputs.size(), 5);
  for (std::size_t j = 0; j < shown; ++j) {
    out << type.inputs[j] << (type.shared[j] != 0 ? "* " : " ");
  }
  if (shown < type.inputs.size()) out << "... ";
  out << "-> " << type.output;
  return out.str();
}

Axis::Axis(const Dim& dim, unsigned d) : n(dim[d]) {
  for (unsigned i = 0; i < dim.nd; ++i) {
    if (i < d) inner *= dim.d[i];
    if (i > d) outer *= dim.d[i];
  }
}

}  // namespace dynet_like::ops
