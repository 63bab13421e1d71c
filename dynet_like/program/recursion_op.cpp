// Facts that follow from the programs of a recursion.
#include "dynet_like/program/recursion_op.h"

#include <algorithm>

namespace dynet_like::detail {

namespace {

// Whether a contribution to the gradient of this input may have memory of its own.
bool may_have_slot(const Program::Input& input, bool is_dense) {
  if (input.from == Program::Input::From::argument) return is_dense;
  return input.from == Program::Input::From::port || waits(input.arrival);
}

}  // namespace

bool RecursionOp::reads_parameter(const Vertices& vertices, const Tape& tape,
                                  const SharedInputs& from) const {
  return std::ranges::any_of(vertices.kinds, [&](const VertexKind& kind) {
    const Program& program = *find(kind);
    return std::ranges::any_of(program.readers, [&](const Program::Reader& reader) {
      const std::uint32_t argument = program.inputs_of(reader.member)[reader.input].index;
      return tape.value(from.values[argument]).reaches_parameter;
    });
  });
}

std::vector<std::uint32_t> RecursionOp::draws_of(const Vertices& vertices) const {
  std::vector<std::uint32_t> of_kind, draws;
  for (const VertexKind& kind : vertices.kinds) of_kind.push_back(find(kind)->draws);
  if (std::ranges::count(of_kind, 0u) == std::ssize(of_kind)) return {};
  for (const std::uint32_t kind : vertices.kind) draws.push_back(of_kind[kind]);
  return draws;
}

std::size_t RecursionOp::bytes_of_vertex(const VertexKind& kind, bool inference) const {
  const Program* const program = find(kind);
  std::size_t bytes = 0;
  for (std::size_t m = 0; m < program->members.size(); ++m) {
    const NodeType& type = (*types)[program->members[m].type];
    const Signature& signature = type.signature;
    std::size_t elements = signature.output_size + signature.saved_size;
    if (!inference) elements += signature.output_size + signature.deferred_size;
    bytes += elements * size_of(dtype) + 2 * type.inputs * sizeof(void*);
    for (std::size_t j = 0; j < type.inputs && !inference; ++j) {
      const bool is_dense = type.shared_gradients[j] == SharedGradient::dense;
      if (may_have_slot(program->inputs_of(m)[j], is_dense)) {
        bytes += signature.inputs[j].size() * size_of(dtype);
      }
    }
  }
  for (const Program::Step& step : program->steps) {
    if (step.early.inputs == 0) continue;
    bytes += step.early.size * step.members.size() * size_of(dtype);
  }
  return bytes;
}

bool RecursionOp::covers(const Vertices& vertices, std::size_t input, std::size_t elements) const {
  const std::size_t columns = is_start(input) ? 1 : vertices.matrix(input).columns;
  return reads_once(vertices, input) && columns * column_sizes[input] == elements &&
         std::ranges::all_of(vertices.kinds, [&](const VertexKind& kind) {
           return !reads(kind, input) || find(kind)->covers_columns[input];
         });
}

bool RecursionOp::adds_once(const Vertices& vertices, std::size_t input,
                            std::size_t elements) const {
  return covers(vertices, input, elements) &&
         std::ranges::all_of(vertices.kinds, [&](const VertexKind& kind) {
           return !reads(kind, input) || find(kind)->adds_once[input];
         });
}

std::size_t RecursionOp::index_of(const VertexKind& kind) const {
  const auto kind_of = [](const auto& program) { return program->kind; };
  const auto found = std::ranges::lower_bound(programs, kind, {}, kind_of);
  const bool is_there = found != programs.end() && (*found)->kind == kind;
  return static_cast<std::size_t>((is_there ? found : programs.end()) - programs.begin());
}

}  // namespace dynet_like::detail
