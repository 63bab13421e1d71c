// DyNet's dynet.h: the computation graph, with the settings of the process.
#pragma once

// Programs rely on the headers that DyNet's header includes.
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
#include <ranges>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "dynet/except.h"
#include "dynet/globals.h"
#include "dynet/init.h"
#include "dynet/model.h"
#include "dynet/node-list.h"
#include "dynet/tensor.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet {

using dynet_like::Expression;

/// How many graphs exist, and the number of the graph that was made or cleared last.
int get_number_of_active_graphs();
unsigned get_current_graph_id();

inline void swap(VariableIndex& a, VariableIndex& b) { std::swap(a, b); }

/// The library's graph with DyNet's names. Any number of graphs may exist. Gradients of parameters
/// add up until their trainer updates them.
class ComputationGraph : public dynet_like::ComputationGraph {
 public:
  /// Batches as autobatch_flag says. The second form batches if `batched` is true, and runs nodes
  /// one by one otherwise.
  ComputationGraph();
  explicit ComputationGraph(bool batched);
  ~ComputationGraph() override;

  /// The recorded nodes, by index.
  NodeList nodes{*this};

  // The functions of expr.h, by index.
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

  /// Adds a node of one of DyNet's classes (nodes.h), given by their constructors' parameters
  /// except the arguments: add_function<Softmax>({x.i}, d).
  template <class Function, class... Side>
  VariableIndex add_function(const std::initializer_list<VariableIndex>& arguments,
                             Side&&... side) {
    return add_function_of(arguments, Function(std::forward<Side>(side)...));
  }
  template <class Function, class... Side>
  VariableIndex add_function(Device*, const std::initializer_list<VariableIndex>& arguments,
                             Side&&... side) {
    return add_function_of(arguments, Function(std::forward<Side>(side)...));
  }
  template <class Function, std::ranges::range Arguments, class... Side>
  VariableIndex add_function(const Arguments& arguments, Side&&... side) {
    return add_function_of(arguments, Function(std::forward<Side>(side)...));
  }
  template <class Function, std::ranges::range Arguments, class... Side>
  VariableIndex add_function(Device*, const Arguments& arguments, Side&&... side) {
    return add_function_of(arguments, Function(std::forward<Side>(side)...));
  }

  /// Valid until the graph is cleared.
  const Dim& get_dimension(VariableIndex index) const { return record().dim_of(index); }

  // Tensors stay valid until the graph is cleared or reverted.

  /// Computes everything anew, and reads again what pointers point to. Inside for_each_sample it
  /// does the same as get_value.
  const Tensor& forward(const Expression& last);
  const Tensor& forward(VariableIndex i) { return forward(expression(i)); }
  /// Computes what has not been computed yet.
  const Tensor& incremental_forward(const Expression& last) { return get_value(last); }
  const Tensor& incremental_forward(VariableIndex i) { return get_value(i); }
  const Tensor& get_value(const Expression& e);
  const Tensor& get_value(VariableIndex i) { return get_value(expression(i)); }

  /// Adds to the gradients of the parameters. With `full`, inputs have gradients, too.
  void backward(const Expression& last, bool full = false);
  void backward(VariableIndex i, bool full = false) { backward(expression(i), full); }
  /// For a parameter: the sum over all graphs since its last update.
  const Tensor& get_gradient(const Expression& e);
  const Tensor& get_gradient(VariableIndex i) { return get_gradient(expression(i)); }

  void clear();
  void revert();

  /// Has no effect: a value is computed when `forward` or the value asks for it. With
  /// `check_validity`, throws NumericError at the first node whose value is not finite, and names
  /// the node.
  void set_immediate_compute(bool) {}
  void set_check_validity(bool check_validity);

  /// Prints the graph in Graphviz' language to standard error; writes it node by node to a file.
  /// Throws FileError.
  void print_graphviz() const;
  void dump(const std::string& filename, bool show_values, bool show_gradients,
            bool nan_check_only = false);

  unsigned get_id() const { return id_; }

 protected:
  void forget_records() override;

 private:
  friend class Minibatch;
  ComputationGraph(dynet_like::detail::TapeWriter& writer, dynet_like::detail::Executor& executor);

  using Tensors = std::unordered_map<VariableIndex, Tensor>;

  template <class Function, class Arguments>
  VariableIndex add_function_of(const Arguments& arguments, const Function& function) {
    std::vector<Expression> xs;
    for (const VariableIndex i : arguments) xs.push_back(Expression(this, i));
    return function(*this, xs).i;
  }
  void forget_handed_out();
  void add_to_profile() const;

  unsigned id_ = 0;
  bool is_of_minibatch_ = false;
  bool is_spare_used_ = true;  ///< whether the next graph may reuse its memory
  bool is_profiled_ = false;
  unsigned options_version_ = 0;
  Tensors values_, gradients_;
};

}  // namespace dynet

namespace dynet_like::detail {

/// Lets `x.pg->` have DyNet's names where these headers are included.
dynet::ComputationGraph* shown_graph(ShownGraph, int);

}  // namespace dynet_like::detail
