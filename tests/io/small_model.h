// A small model for tests of files: a parameter and a table of every kind.
#pragma once

#include "dynet_like/params/parameter_collection.h"
#include "tests/support/device_memory.h"

namespace dynet_like {

struct SmallModel {
  ParameterCollection all, encoder;
  Parameter matrix, cube, bias;
  LookupParameter words, tags;

  explicit SmallModel(std::uint64_t seed, DType dtype = DType::f32,
                      const std::shared_ptr<Device>& device = default_device())
      : all(seed, dtype, device), encoder(all) {
    words = all.add_lookup_parameters(60, {3}, "words");
    matrix = all.add_parameters({2, 3}, "W");
    encoder = all.add_subcollection("encoder");
    cube = encoder.add_parameters({2, 2, 2});
    tags = encoder.add_lookup_parameters(2, {2, 2}, "tags");
    bias = all.add_parameters({5}, ParameterInitNormal(), "b");
  }
};

/// How often the values of each parameter were written.
inline std::vector<std::uint64_t> versions_of(const ParameterCollection& model) {
  std::vector<std::uint64_t> versions;
  for (const auto& storage : model.storages()) versions.push_back(storage->values.version());
  return versions;
}

}  // namespace dynet_like
