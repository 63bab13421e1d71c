// Model files: the parameters of a collection by name.
#pragma once

#include <map>
#include <string>

#include "dynet_like/params/parameter_collection.h"

namespace dynet_like {

class SafetensorsFile;
class TensorEntries;

/// What a program wants to remember beside the tensors.
using Metadata = std::map<std::string, std::string>;

/// What to do with tensors of a file that the collection does not have.
enum class ExtraTensors { refuse, ignore };

/// Writes all parameters and tables to a safetensors file, atomically (see AtomicFile). Names are
/// the full ones, such as "/lstm/W"; a matrix has shape [rows, columns], a table of n entries
/// [n, entry...], row-major, so that W[i][j] is the same element in other languages.
/// Throws FileError if the file cannot be written, UsageError for keys that begin "dynet_like.".
void save_parameters(const std::string& path, const ParameterCollection& collection,
                     const Metadata& metadata = {});

/// Reads all parameters and tables from such a file, or from a checkpoint, and returns its
/// metadata. Throws FileError unless the file has every parameter in its shape and type and, if
/// they are refused, no other tensors. Whatever it throws, nothing has changed.
Metadata load_parameters(const std::string& path, const ParameterCollection& collection,
                         ExtraTensors extra = ExtraTensors::refuse);
/// The same from a file that was read before, such as for what its metadata say of the model.
Metadata load_parameters(const SafetensorsFile& file, const ParameterCollection& collection,
                         ExtraTensors extra = ExtraTensors::refuse);

/// The same as arrays of numpy, in an .npz file; it has no place for metadata. Throw as above.
void save_npz(const std::string& path, const ParameterCollection& collection);
void load_npz(const std::string& path, const ParameterCollection& collection,
              ExtraTensors extra = ExtraTensors::refuse);

/// Reads one tensor of a file, a SafetensorsFile or a NumpyFile, into a parameter or a table, such
/// as word vectors [words, size] into one of as many rows. Throws FileError unless the file has a
/// tensor of that name in its shape and type; then nothing has changed.
void load_parameter(const TensorEntries& file, const std::string& name, const Parameter& parameter);
void load_parameter(const TensorEntries& file, const std::string& name,
                    const LookupParameter& table);

}  // namespace dynet_like
