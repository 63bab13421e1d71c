// Models as programs for DyNet write them, on the data of bench/models.
#pragma once

#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/model.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

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

struct DyNetModelKind {
  const char* name;
  std::vector<unsigned> sizes;  ///< hidden sizes that are measured
  std::unique_ptr<DyNetModel> (*make)(unsigned hidden);
  /// Whether it is the form "ops" of the model of this name in bench/models, with the same
  /// parameters, names and order; otherwise it uses DyNet's builders.
  bool op_by_op;
};

const std::vector<DyNetModelKind>& all_dynet_models();

/// Throws std::invalid_argument for an unknown name.
const DyNetModelKind& dynet_model(const std::string& name);

// The models of bench/models/models.h, op by op.
std::unique_ptr<DyNetModel> make_dynet_tree_lstm(unsigned hidden);
std::unique_ptr<DyNetModel> make_dynet_tree_lstm_own_forget(unsigned hidden);
std::unique_ptr<DyNetModel> make_dynet_tree_gru(unsigned hidden);
std::unique_ptr<DyNetModel> make_dynet_tagger(unsigned hidden);
std::unique_ptr<DyNetModel> make_dynet_char_tagger(unsigned hidden);
std::unique_ptr<DyNetModel> make_dynet_lattice_lstm(unsigned hidden);
std::unique_ptr<DyNetModel> make_dynet_random_dag(unsigned hidden);

/// The tagger with a VanillaLSTMBuilder for each direction.
std::unique_ptr<DyNetModel> make_dynet_tagger_with_builders(unsigned hidden);

}  // namespace dynet_like::bench
