// What an expression looks like in a message.
#include "dynet_like/graph/expression.h"

#include <ostream>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like {

using namespace detail;

void GraphPointer::throw_empty() {
  throw StateError("[Expression] need an expression of a graph; got an empty one");
}

std::ostream& operator<<(std::ostream& out, const Expression& x) {
  if (x.is_stale()) return out << "(cleared expression)";
  const OneThread::Use use(x.pg->record().tape().user());
  if (x.is_stale() || !x.pg->record().is_recorded(x)) return out << "(cleared expression)";
  const Tape& tape = x.pg->record().tape();
  const NodeId node = tape.value(x.i).node;
  out << visible_text(tape.type_of(node).op->name) << ' ' << x.dim();
  const std::string& label = label_of(tape, node);
  if (!label.empty()) out << " \"" << visible_text(label) << '"';
  return out;
}

}  // namespace dynet_like
