// Models as programs for DyNet write them, op by op, on the data of bench/models.
#pragma once

#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/model.h>

#include <cstddef>
#include <memory>
#include <string>

namespace dynet_like::bench {

/// A model with its data: see Workload in bench/models/workload.h.
class DyNetModel {
 public:
  virtual ~DyNetModel() = default;
  virtual std::size_t size() const = 0;
  virtual std::size_t words(std::size_t instance) const = 0;
  virtual dynet::Expression loss(dynet::ComputationGraph& cg, std::size_t instance) = 0;

  dynet::ParameterCollection model;
};

/// "tree_lstm", "tagger" or "char_tagger", with the parameters, names and order of the form "ops"
/// of bench/models. Throws std::invalid_argument for another name.
std::unique_ptr<DyNetModel> make_dynet_model(const std::string& name, unsigned hidden);

}  // namespace dynet_like::bench
