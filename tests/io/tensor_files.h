// Files of tensors: numbers as their bytes and back, and the two formats.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/io/model_file.h"
#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"

namespace dynet_like {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
std::vector<T> values_of(const TensorEntry& entry) {
  std::vector<T> values(entry.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
  return values;
}

/// The bytes of a file that is parsed in memory.
inline std::vector<std::byte> file_bytes(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A format that keeps tensors with their names.
struct TensorFormat {
  const char* suffix;
  std::function<void(const std::string& path, std::span<const TensorEntry>)> write;
  std::function<std::shared_ptr<const TensorEntries>(const std::string&path)> read, parse;
  std::function<void(const std::string& path, const ParameterCollection&)> save;
  std::function<void(const std::string& path, const ParameterCollection&, ExtraTensors)> load;
};

inline void PrintTo(const TensorFormat& format, std::ostream* out) { *out << format.suffix; }

inline std::vector<TensorFormat> tensor_formats() {
  return {
      {".safetensors", [](auto& path, auto entries) { write_safetensors(path, entries); },
       [](auto& path) { return std::make_shared<SafetensorsFile>(SafetensorsFile::read(path)); },
       [](auto& text) {
         return std::make_shared<SafetensorsFile>(
             SafetensorsFile::parse(file_bytes(text), "memory"));
       },
       [](auto& path, auto& model) { save_parameters(path, model); },
       [](auto& path, auto& model, auto extra) { load_parameters(path, model, extra); }},
      {".npz", [](auto& path, auto entries) { write_npz(path, entries); },
       [](auto& path) { return std::make_shared<NumpyFile>(NumpyFile::read(path)); },
       [](auto& text) {
         return std::make_shared<NumpyFile>(NumpyFile::parse(file_bytes(text), "memory"));
       },
       [](auto& path, auto& model) { save_npz(path, model); },
       [](auto& path, auto& model, auto extra) { load_npz(path, model, extra); }}};
}

}  // namespace dynet_like
