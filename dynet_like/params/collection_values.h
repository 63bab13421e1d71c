// The values of all parameters of a collection: copied to another one, and looked through.
#pragma once

#include <string>

#include "dynet_like/params/parameter_collection.h"

namespace dynet_like {

/// Gives parameters of `to` the values of those in `from` that have the same names behind the names
/// of the (sub)collections, on whatever devices: such as for a model that serves while the other is
/// trained on. Flags and moments stay. Throws UsageError unless both have the same names, shapes
/// and types, and NumericError for a NaN in `from`; then nothing has changed.
///
/// No trainer may update `from` meanwhile, and nobody may read it either if a trainer left rows of
/// its tables behind (SparseUpdates::exact), which are brought up to date; nobody may read `to`.
void copy_values(const ParameterCollection& from, const ParameterCollection& to);

/// Throws NumericError, which names the first NaN, if a value is one: for a model from elsewhere,
/// before it answers. Infinite values pass, since -infinity is the score of what is forbidden. It
/// reads all values once, at the speed of memory.
void check_no_nan(const ParameterCollection& parameters);

namespace detail {

/// Such as "float {2,3}, a table".
std::string description_of(const ParameterStorage& storage);

}  // namespace detail

}  // namespace dynet_like
