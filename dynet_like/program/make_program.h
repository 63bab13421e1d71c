// From what a function recorded for a vertex to a program.
#pragma once

#include <string>
#include <vector>

#include "dynet_like/program/program.h"
#include "dynet_like/program/recorded_vertex.h"

namespace dynet_like::detail {

/// The arguments of programs that all samples share: values of the recorded tape.
using SharedArguments = std::vector<ValueId>;

/// Arguments that are new are added to `shared`. Throws UsageError, which begins with the name, for
/// what cannot be in a program.
Program make_program(const std::string& name, const Tape& tape, const RecordedVertex& recorded,
                     SharedArguments& shared);

}  // namespace dynet_like::detail
