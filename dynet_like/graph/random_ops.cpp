// The operations that draw random numbers.
#include "dynet_like/graph/recording.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

using namespace recording;

Expression dropout(const Expression& x, float p) {
  if (!(p >= 0 && p < 1)) {
    throw UsageError("[dropout] need a probability of at least 0 and below 1; got " +
                     std::to_string(p));
  }
  if (p == 0) return x;
  if (!graph_of("dropout", x).has_random()) {
    throw UsageError(
        "[dropout] need random numbers; got a graph without: set "
        "GraphOptions::random");
  }
  return with_number(ops::dropout, x, p);
}

}  // namespace dynet_like
