// Values of a JSON file with their keys, so that messages say where a fault is; for readers of
// published folders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn::text {

/// A value of a JSON file and its key, such as "model.vocab". All functions throw FileError with
/// the key for a value of another kind.
class JsonEntry {
 public:
  /// Parses a file whose depth and number of values are bounded. Throws FileError.
  static JsonEntry parse(std::string_view json, const std::string& file);

  [[noreturn]] void fail(const std::string& what) const;
  /// Fails with the value.
  [[noreturn]] void need(const std::string& kind) const;

  /// The value of a key; empty if it is missing or null.
  std::optional<JsonEntry> find(const std::string& key) const;
  JsonEntry at(const std::string& key) const;
  bool flag_or(const std::string& key, bool otherwise) const;
  /// Fails if there are more values in it: the work for a text grows with its components.
  void check_values(std::size_t most) const;
  /// Refuses other keys, since they might change a component.
  void allow(std::initializer_list<std::string_view> keys) const;

  const std::string& text() const;
  bool flag() const;
  std::uint64_t number() const;
  std::uint32_t id() const;  ///< a number below 2^32
  double real() const;
  bool is_text() const;
  bool is_list() const;
  char32_t character() const;  ///< a text of one
  std::string json() const;    ///< the value as JSON without spaces

  void each_item(const std::function<void(const JsonEntry&)>& f) const;
  void each_member(const std::function<void(const std::string&, const JsonEntry&)>& f) const;

  /// Calls f, and adds file and key to its errors.
  template <class F>
  auto checked(const F& f) const {
    try {
      return f();
    } catch (const UsageError& error) {
      fail(error.what());
    }
  }
  /// The value that a text names.
  template <class T>
  T choice(std::initializer_list<std::pair<std::string_view, T>> choices,
           const std::string& need = "one of ") const {
    std::string names;
    for (const auto& [name, value] : choices) {
      if (text() == name) return value;
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    this->need(need + names);
  }

 private:
  struct Document;
  JsonEntry(std::shared_ptr<const Document> document, const void* value, std::string key);
  JsonEntry child(const void* value, const std::string& key) const;

  std::shared_ptr<const Document> document_;
  const void* value_;  // of the library that parses
  std::string key_;
};

}  // namespace dynet_like::nn::text

namespace dynet_like::nn {
using text::JsonEntry;
}
