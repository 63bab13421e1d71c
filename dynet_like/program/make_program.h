// Turns the record of a function for a vertex into a program.
#pragma once

#include <string>
#include <vector>

#include "dynet_like/program/program.h"
#include "dynet_like/program/recorded_vertex.h"

namespace dynet_like::detail {

/// The arguments of programs, shared by all samples: values of the recorded tape.
using SharedArguments = std::vector<ValueId>;

/// Adds new arguments to `shared`. Throws UsageError, which begins with the name, for operations
/// that a program cannot contain.
Program make_program(const std::string& name, const Tape& tape, const RecordedVertex& recorded,
                     SharedArguments& shared);

}  // namespace dynet_like::detail
