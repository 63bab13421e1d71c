// Model files: the parameters of a collection by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dynet_like/params/parameter_collection.h"

namespace dynet_like {

class SafetensorsFile;
class TensorEntries;

/// Texts that a program stores beside the tensors.
using Metadata = std::map<std::string, std::string>;

/// Whether a file may have tensors that the collection does not have.
enum class ExtraTensors { refuse, ignore };

/// Writes all parameters and tables to a safetensors file, atomically (see AtomicFile), under their
/// full names, such as "/lstm/W". A matrix has shape [rows, columns], a table of n rows [n,
/// row...]. Elements are row-major, so W[i][j] is the same element in other languages. Throws
/// FileError if the file cannot be written, UsageError for keys that begin with "dynet_like.".
void save_parameters(const std::string& path, const ParameterCollection& collection,
                     const Metadata& metadata = {});

/// Reads all parameters and tables from such a file, or from a checkpoint, and returns the
/// program's metadata. Throws FileError unless the file has every parameter with its shape and type
/// and, with ExtraTensors::refuse, no other tensors. After any exception, nothing has changed.
Metadata load_parameters(const std::string& path, const ParameterCollection& collection,
                         ExtraTensors extra = ExtraTensors::refuse);
/// The same for a file that you have read before, say to learn the model's sizes from its metadata.
Metadata load_parameters(const SafetensorsFile& file, const ParameterCollection& collection,
                         ExtraTensors extra = ExtraTensors::refuse);

/// What load_matching() has found.
struct LoadReport {
  /// A parameter whose tensor in the file has another shape or type.
  struct Mismatch {
    std::string name, wanted, found;  ///< for example "/linear/W", "F32 [2, 8]", "F32 [3, 8]"
  };

  std::vector<std::string> loaded;     ///< Parameters that have the file's values now.
  std::vector<std::string> missing;    ///< Parameters that the file does not have.
  std::vector<std::string> left_over;  ///< Tensors of the file that are no parameter's.
  std::vector<Mismatch> mismatched;

  /// Whether all parameters were loaded, and all tensors of the file.
  bool is_complete() const { return missing.empty() && left_over.empty() && mismatched.empty(); }
  /// Several lines for people, with all names but those of `loaded`.
  std::string text() const;
};

/// Reads those parameters that the file, a SafetensorsFile or a NumpyFile, has with their names,
/// shapes and types, as load_parameters does, and leaves all others unchanged. For a model that has
/// changed since it was saved: look at the report.
LoadReport load_matching(const TensorEntries& file, const ParameterCollection& collection);
/// The same for the path of a safetensors file. Throws FileError if it cannot be read.
LoadReport load_matching(const std::string& path, const ParameterCollection& collection);

/// The same with numpy's format, an .npz file, which has no metadata. These throw as above.
void save_npz(const std::string& path, const ParameterCollection& collection);
void load_npz(const std::string& path, const ParameterCollection& collection,
              ExtraTensors extra = ExtraTensors::refuse);

/// Reads one tensor of a file, a SafetensorsFile or a NumpyFile, into a parameter or table: for
/// example word vectors [words, size] into a table with as many rows. Throws FileError, and changes
/// nothing, unless the file has a tensor of that name with the parameter's shape and type.
void load_parameter(const TensorEntries& file, const std::string& name, const Parameter& parameter);
void load_parameter(const TensorEntries& file, const std::string& name,
                    const LookupParameter& table);

}  // namespace dynet_like
