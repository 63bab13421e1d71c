// DyNet's io.h: parameters in text files.
#pragma once

#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "dynet/model.h"
#include "dynet_like/io/text_model_file.h"

namespace dynet {

/// Saves parameters under keys.
class Saver {
 public:
  virtual ~Saver() = default;
  virtual void save(const ParameterCollection& model, const std::string& key = "") = 0;
  virtual void save(const Parameter& param, const std::string& key = "") = 0;
  virtual void save(const LookupParameter& param, const std::string& key = "") = 0;
};

/// Loads parameters that were saved.
class Loader {
 public:
  virtual ~Loader() = default;
  virtual void populate(ParameterCollection& model, const std::string& key = "") = 0;
  virtual void populate(Parameter& param, const std::string& key = "") = 0;
  virtual void populate(LookupParameter& lookup_param, const std::string& key = "") = 0;
  /// Adds a parameter with the shape, the values and the gradient that were saved.
  virtual Parameter load_param(ParameterCollection& model, const std::string& key) = 0;
  virtual LookupParameter load_lookup_param(ParameterCollection& model, const std::string& key) = 0;
};

/// Writes DyNet's text format. Objects have their full names, or the key in place of the
/// collection's name. The file is written as a whole by every save, so many small saves cost more
/// than one of their collection.
class TextFileSaver : public Saver {
 public:
  explicit TextFileSaver(const std::string& filename, bool append = false)
      : filename_(filename), append_(append) {}

  /// All throw FileError if the file cannot be written.
  void save(const ParameterCollection& model, const std::string& key = "") override;
  void save(const Parameter& param, const std::string& key = "") override;
  void save(const LookupParameter& param, const std::string& key = "") override;

 private:
  void save(const dynet_like::ParameterStorage& parameter, const std::string& key);

  std::string filename_;
  bool append_;
};

/// Reads DyNet's text format. All members throw FileError, and change nothing, if the file does not
/// have what they need.
class TextFileLoader : public Loader {
 public:
  explicit TextFileLoader(const std::string& filename) : filename_(filename) {}

  /// Without a key: all objects of the file in their order, all of which must fit. With a key: the
  /// objects whose path begins with it: "/rnn" stands for "/rnn/_0", but not for "/rnn_1/_0".
  void populate(ParameterCollection& model, const std::string& key = "") override;
  /// The first object of its kind, or the one with this name.
  void populate(Parameter& param, const std::string& key = "") override;
  void populate(LookupParameter& lookup_param, const std::string& key = "") override;
  Parameter load_param(ParameterCollection& model, const std::string& key) override;
  LookupParameter load_lookup_param(ParameterCollection& model, const std::string& key) override;

 private:
  dynet_like::detail::TextModelEntry find(bool is_table, const std::string& key) const;

  std::string filename_;
};

/// A vector as its length and its elements, separated by spaces.
template <class T>
std::ostream& operator<<(std::ostream& out, const std::vector<T>& elements) {
  out << elements.size();
  for (const T& element : elements) out << ' ' << element;
  return out;
}
template <class T>
std::istream& operator>>(std::istream& in, std::vector<T>& elements) {
  std::size_t size = 0;
  in >> size;
  elements.clear();
  for (T element; elements.size() < size && in >> element;) {
    elements.push_back(std::move(element));  // one by one, since the length may be wrong
  }
  return in;
}

}  // namespace dynet
