// The parameters of a collection in DyNet's text format.
#pragma once

#include <string_view>

#include "dynet_like/params/gradients.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like {

namespace detail {
struct TextModelEntry;
}

/// A parameter or table as an object of such a file, under its full name, with its gradient if
/// there is one. Doubles are rounded to floats, since the format has only those.
detail::TextModelEntry text_model_entry(const ParameterStorage& parameter,
                                        const Gradients* gradients = nullptr);

/// Writes all parameters of a collection, then all its tables, as DyNet does, atomically (see
/// AtomicFile). Throws FileError.
void save_text_model(const std::string& path, const ParameterCollection& collection,
                     const Gradients* gradients = nullptr);

/// Reads a collection from such a file. As in DyNet, the order counts, not names: the n-th
/// #Parameter# goes to the n-th parameter that is not a table, the n-th #LookupParameter# to the
/// n-th table. With a key, such as "/encoder", only objects below that path count: "/encoder/W",
/// but not "/encoder_1/W". The gradients of the file replace those of `gradients`, if given. Throws
/// FileError, before anything is changed, unless there is one object of the same shape for every
/// parameter. If memory runs out, no parameter has changed, but some gradients may have.
void load_text_model(const std::string& path, const ParameterCollection& collection,
                     std::string_view key = {}, Gradients* gradients = nullptr);

}  // namespace dynet_like
