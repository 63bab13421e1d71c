// DyNet's dynet.h: the computation graph with the settings of the process.
#pragma once

// Programs rely on what DyNet's headers bring with them.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "dynet/except.h"
#include "dynet/globals.h"
#include "dynet/init.h"
#include "dynet/model.h"
#include "dynet/tensor.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet {

using dynet_like::Expression;
using VariableIndex = unsigned;

/// How many graphs there are, and the number of the one that was made or cleared last.
int get_number_of_active_graphs();
unsigned get_current_graph_id();

inline void swap(VariableIndex& a, VariableIndex& b) { std::swap(a, b); }

/// The library's graph with DyNet's names. Any number of graphs may be alive. Gradients of
/// parameters add up until their trainer updates them.
class ComputationGraph : public dynet_like::ComputationGraph {
 public:
  /// With the batching of `initialize`; or one by one if `batched` is false.
  ComputationGraph();
  explicit ComputationGraph(bool batched);
  ~ComputationGraph();

  // What the functions of expr.h do, by index.
  VariableIndex add_input(real s, Device* device = default_device);
  VariableIndex add_input(const real* ps, Device* device = default_device);
  VariableIndex add_input(const Dim& d, const std::vector<float>& data,
                          Device* device = default_device);
  VariableIndex add_input(const Dim& d, const std::vector<float>* pdata,
                          Device* device = default_device);
  VariableIndex add_input(const Dim& d, const std::vector<unsigned>& ids,
                          const std::vector<float>& data, Device* device = default_device,
                          float defdata = 0.0f);
  VariableIndex add_parameters(const Parameter& p);
  VariableIndex add_parameters(const LookupParameter& p);
  VariableIndex add_const_parameters(const Parameter& p);
  VariableIndex add_const_parameters(const LookupParameter& p);
  VariableIndex add_lookup(const LookupParameter& p, unsigned index);
  VariableIndex add_lookup(const LookupParameter& p, const unsigned* pindex);
  VariableIndex add_lookup(const LookupParameter& p, const std::vector<unsigned>& indices);
  VariableIndex add_lookup(const LookupParameter& p, const std::vector<unsigned>* pindices);
  VariableIndex add_const_lookup(const LookupParameter& p, unsigned index);
  VariableIndex add_const_lookup(const LookupParameter& p, const unsigned* pindex);
  VariableIndex add_const_lookup(const LookupParameter& p, const std::vector<unsigned>& indices);
  VariableIndex add_const_lookup(const LookupParameter& p, const std::vector<unsigned>* pindices);

  const Dim& get_dimension(VariableIndex index) const;

  // Tensors stay valid until the graph is cleared or reverted.

  /// Computes everything anew: what pointers point to is read again.
  const Tensor& forward(const Expression& last);
  const Tensor& forward(VariableIndex i) { return forward(expression(i)); }
  /// Computes what has not been computed yet.
  const Tensor& incremental_forward(const Expression& last) { return get_value(last); }
  const Tensor& incremental_forward(VariableIndex i) { return get_value(i); }
  const Tensor& get_value(const Expression& e);
  const Tensor& get_value(VariableIndex i) { return get_value(expression(i)); }

  /// Adds to the gradients of the parameters. `full`: inputs have gradients too.
  void backward(const Expression& last, bool full = false);
  void backward(VariableIndex i, bool full = false) { backward(expression(i), full); }
  /// Of a parameter: the sum over all graphs since its last update.
  const Tensor& get_gradient(const Expression& e);
  const Tensor& get_gradient(VariableIndex i) { return get_gradient(expression(i)); }

  void clear();
  void revert();

  /// Computes every value when `forward` or a value asks for it, as always; with `check_validity`,
  /// throws NumericError at the first node whose value is not finite, and names it.
  void set_immediate_compute(bool) {}
  void set_check_validity(bool check_validity);

  /// The graph in Graphviz' language, on standard error; and node by node into a file. Throws
  /// FileError.
  void print_graphviz() const;
  void dump(const std::string& filename, bool show_values, bool show_gradients,
            bool nan_check_only = false);

  unsigned get_id() const { return id_; }

 private:
  using Tensors = std::unordered_map<VariableIndex, Tensor>;

  void start_anew();

  unsigned id_ = 0;
  bool is_batched_ = true;
  unsigned options_version_ = 0;
  Tensors values_, gradients_;
  mutable std::unordered_map<VariableIndex, Dim> dims_;
};

}  // namespace dynet
