// Copies the values of all parameters of a collection to another one, and checks them.
#pragma once

#include <string>

#include "dynet_like/params/parameter_collection.h"

namespace dynet_like {

/// Gives each parameter of `to` the values of the parameter of `from` with the same name, relative
/// to the (sub)collections, on any devices. Use it to serve one model while training another one.
/// Flags and moments stay. Throws UsageError unless both have the same names, shapes and types, and
/// NumericError for a NaN in `from`; in these cases nothing changes.
///
/// Meanwhile no trainer may update `from`, and nobody may read `to`. If a trainer has postponed
/// updates of rows of tables (SparseUpdates::exact), they are applied now, so nobody may read
/// `from` either.
void copy_values(const ParameterCollection& from, const ParameterCollection& to);

/// Throws NumericError, which names the first NaN, if any value is a NaN. Use it to check a model
/// from elsewhere before you serve it. Infinite values are accepted, since -infinity is the score
/// of forbidden choices. Reads all values once, at the speed of memory.
void check_no_nan(const ParameterCollection& parameters);

namespace detail {

/// For example "float {2,3}, a table".
std::string description_of(const ParameterStorage& storage);

}  // namespace detail

}  // namespace dynet_like
