// A collection of parameters: a model owns it, a trainer updates it, a file stores it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dynet_like/params/initialisers.h"
#include "dynet_like/params/parameter.h"

namespace dynet_like {

namespace detail {

/// All parameters of a collection and its subcollections, in the order of their creation.
struct CollectionStorage {
  DType dtype = DType::f32;
  std::uint64_t seed = 0;
  bool draws = true;  ///< initial values; otherwise they are unknown until they are loaded
  std::vector<std::shared_ptr<ParameterStorage>> all;
  std::map<std::string, std::size_t> by_name;  ///< index in `all`
  std::shared_ptr<CollectionLayout> layout = std::make_shared<CollectionLayout>();
};

}  // namespace detail

/// Named parameters. A collection is a handle: copies and subcollections share the storage.
///
/// Names are paths, built as in DyNet: "/W"; a second "W" becomes "/W_1"; without a name it is
/// "/_0", in subcollection "lstm" "/lstm/_0". Initial values depend only on the seed and the
/// position.
class ParameterCollection {
 public:
  explicit ParameterCollection(std::uint64_t seed = 1, DType dtype = DType::f32,
                               std::shared_ptr<Device> device = default_device());
  // Moving copies, so that every handle has a storage.
  ParameterCollection(const ParameterCollection&) = default;
  ParameterCollection& operator=(const ParameterCollection&) = default;

  /// Adds a parameter. Glorot's initialiser is the default.
  Parameter add_parameters(const Dim& dim, const std::string& name = "");
  Parameter add_parameters(const Dim& dim, const ParameterInit& init, const std::string& name = "");
  /// Adds a table of `rows` entries of shape `dim` (at most 6 dimensions).
  LookupParameter add_lookup_parameters(unsigned rows, const Dim& dim,
                                        const std::string& name = "");
  LookupParameter add_lookup_parameters(unsigned rows, const Dim& dim, const ParameterInit& init,
                                        const std::string& name = "");

  /// A collection whose parameters also belong to this one.
  ParameterCollection add_subcollection(const std::string& name = "");

  /// A separate collection that begins with the same full names, shapes, values and flags. It
  /// shares nothing with this one.
  ParameterCollection copy() const;

  const std::string& get_fullname() const { return path_->name; }
  /// The parameters and tables of this (sub)collection, in the order of their creation.
  std::vector<std::shared_ptr<ParameterStorage>> storages() const;
  /// Whether a parameter of the storage belongs to this (sub)collection.
  bool contains(const ParameterStorage& parameter) const {
    return parameter.name.starts_with(path_->name);
  }
  /// The parameter with this full name. Throws UsageError, with the nearest names, if there is
  /// none.
  std::shared_ptr<ParameterStorage> find(const std::string& full_name) const;
  /// The number of elements of all parameters.
  std::size_t parameter_count() const;
  std::size_t size() const { return storages().size(); }

  detail::CollectionStorage& get_storage() const { return *storage_; }
  DType dtype() const { return storage_->dtype; }
  const std::shared_ptr<Device>& device() const { return storage_->layout->device; }

 private:
  struct Path {
    std::string name = "/";
    std::map<std::string, unsigned> uses;
  };

  /// How often this name was used before.
  unsigned& uses_of(const std::string& name);
  std::string full_name(const std::string& name, unsigned uses) const;
  std::shared_ptr<ParameterStorage> add(const Dim& dim, bool is_table, const ParameterInit& init,
                                        const std::string& name);
  std::shared_ptr<ParameterStorage> make(const std::string& full_name, const Dim& dim,
                                         bool is_table) const;
  void take(const std::shared_ptr<ParameterStorage>& parameter);

  std::shared_ptr<detail::CollectionStorage> storage_;
  std::shared_ptr<Path> path_;
};

}  // namespace dynet_like
