// The parameters of an encoder, by their parts.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "dynet_like/params/parameter_collection.h"
#include "nn/encoders/family.h"

namespace dynet_like::nn::encoders {

/// A matrix or a norm's gain, with a bias, or a table. All are empty if an encoder lacks the part.
struct PartParameters {
  Parameter weights, bias;
  LookupParameter table;
  Parameter adapter_a, adapter_b;  ///< of a matrix with an adapter, {rank, inputs}, {outputs, rank}
};

using Parts = std::array<PartParameters, kParts>;

/// All that copies of an encoder share; it does not change after the encoder was made.
struct EncoderParameters {
  EncoderConfig config;
  const Family* family = nullptr;
  Activation activation = nullptr;
  Parts common;
  std::vector<Parts> layers;
  float adapter_scale = 0;  ///< 0: there are no adapters

  const PartParameters& of(Part part) const { return common[static_cast<std::size_t>(part)]; }
  const PartParameters& of(Part part, unsigned layer) const {
    return layers[layer][static_cast<std::size_t>(part)];
  }
  std::shared_ptr<ParameterStorage> storage_of(const EncoderTensor& tensor) const {
    const PartParameters& own =
        is_in_layers(tensor.part) ? of(tensor.part, tensor.layer) : of(tensor.part);
    return tensor.is_table ? own.table.p : tensor.is_bias ? own.bias.p : own.weights.p;
  }
};

/// Whether there is an adapter whose B is not all 0.
bool has_unmerged_adapters(const EncoderParameters& own);

}  // namespace dynet_like::nn::encoders
