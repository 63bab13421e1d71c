// The computation graph with DyNet's names and the settings of the process.
#include <atomic>
#include <cmath>
#include <fstream>
#include <iostream>
#include <mutex>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet_like/compat/profile.h"
#include "dynet_like/compat/spare_memory.h"
#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/graph_memory.h"
#include "dynet_like/graph/graphviz.h"
#include "dynet_like/tape/tape_writer.h"

namespace dynet {

namespace {

using dynet_like::detail::GraphMemory;

std::atomic<int> active_graphs{0};
std::atomic<unsigned> last_graph{0};

bool batches_by_itself() {
  return detail::graph_options().policy != dynet_like::batching::Policy::none;
}

// The options of all graphs, but with another policy.
dynet_like::GraphOptions options_with(bool batched) {
  using dynet_like::batching::Policy;
  dynet_like::GraphOptions options = detail::graph_options();
  options.policy = batched ? Policy::automatic : Policy::none;
  return options;
}

// Programs make a new graph for every sample or minibatch. It reuses the memory of an earlier one.
class SpareMemory {
 public:
  SpareMemory() { all_.reserve(kMost); }  // destructors call give(), which must not fail

  std::unique_ptr<GraphMemory> take() {
    std::lock_guard lock(mutex_);
    drop_outdated();
    if (all_.empty()) return std::make_unique<GraphMemory>(detail::graph_options());
    std::unique_ptr<GraphMemory> memory = std::move(all_.back());
    all_.pop_back();
    return memory;
  }
  // `version`: that of the options when the graph was made.
  void give(std::unique_ptr<GraphMemory> memory, unsigned version) {
    std::lock_guard lock(mutex_);
    drop_outdated();
    if (version == version_ && all_.size() < kMost) all_.push_back(std::move(memory));
  }
  void forget() {
    std::lock_guard lock(mutex_);
    all_.clear();
  }

 private:
  static constexpr std::size_t kMost = 4;

  void drop_outdated() {
    if (version_ != detail::graph_options_version()) all_.clear();
    version_ = detail::graph_options_version();
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<GraphMemory>> all_;
  unsigned version_ = 0;
};

// Never destroyed, because graphs may live as long as the process.
SpareMemory& spare_memory() {
  static auto* const memory = new SpareMemory;
  return *memory;
}

}  // namespace

void detail::forget_spare_memory() { spare_memory().forget(); }

int get_number_of_active_graphs() { return active_graphs; }
unsigned get_current_graph_id() { return last_graph; }

ComputationGraph::ComputationGraph() : ComputationGraph(batches_by_itself()) {}
ComputationGraph::ComputationGraph(bool batched)
    : dynet_like::ComputationGraph(batched == batches_by_itself()
                                       ? spare_memory().take()
                                       : std::make_unique<GraphMemory>(options_with(batched))),
      id_(++last_graph),
      is_spare_used_(batched == batches_by_itself()),
      is_profiled_(profiling_flag > 0),
      options_version_(detail::graph_options_version()) {
  run().collected = &detail::gradients();
  set_seed(detail::next_seed());
  ++active_graphs;
}
ComputationGraph::ComputationGraph(dynet_like::detail::TapeWriter& writer,
                                   dynet_like::detail::Executor& executor)
    : dynet_like::ComputationGraph(writer, executor),
      id_(++last_graph),
      is_of_minibatch_(true),
      is_spare_used_(false) {
  run().collected = &detail::gradients();
  ++active_graphs;
}
ComputationGraph::~ComputationGraph() {
  --active_graphs;
  add_to_profile();
  if (!is_spare_used_) return;
  set_check_validity(false);
  spare_memory().give(take_memory(), options_version_);
}

void ComputationGraph::add_to_profile() const {
  if (is_profiled_) detail::add_work_to_profile(*this);
}

VariableIndex ComputationGraph::add_input(real s, Device*) { return input(*this, s).i; }
VariableIndex ComputationGraph::add_input(const real* ps, Device*) { return input(*this, ps).i; }
VariableIndex ComputationGraph::add_input(const Dim& d, const std::vector<float>& data, Device*) {
  return input(*this, d, data).i;
}
VariableIndex ComputationGraph::add_input(const Dim& d, const std::vector<float>* pdata, Device*) {
  return input(*this, d, pdata).i;
}
VariableIndex ComputationGraph::add_input(const Dim& d, const std::vector<unsigned>& ids,
                                          const std::vector<float>& data, Device*, float defdata) {
  return input(*this, d, ids, data, defdata).i;
}
VariableIndex ComputationGraph::add_parameters(const Parameter& p) { return parameter(*this, p).i; }
VariableIndex ComputationGraph::add_parameters(const LookupParameter& p) {
  return parameter(*this, p).i;
}
VariableIndex ComputationGraph::add_const_parameters(const Parameter& p) {
  return const_parameter(*this, p).i;
}
VariableIndex ComputationGraph::add_const_parameters(const LookupParameter& p) {
  return const_parameter(*this, p).i;
}
VariableIndex ComputationGraph::add_lookup(const LookupParameter& p, unsigned index) {
  return lookup(*this, p, index).i;
}
VariableIndex ComputationGraph::add_lookup(const LookupParameter& p, const unsigned* pindex) {
  return lookup(*this, p, pindex).i;
}
VariableIndex ComputationGraph::add_lookup(const LookupParameter& p,
                                           const std::vector<unsigned>& indices) {
  return lookup(*this, p, indices).i;
}
VariableIndex ComputationGraph::add_lookup(const LookupParameter& p,
                                           const std::vector<unsigned>* pindices) {
  return lookup(*this, p, pindices).i;
}
VariableIndex ComputationGraph::add_const_lookup(const LookupParameter& p, unsigned index) {
  return const_lookup(*this, p, index).i;
}
VariableIndex ComputationGraph::add_const_lookup(const LookupParameter& p, const unsigned* pindex) {
  return const_lookup(*this, p, pindex).i;
}
VariableIndex ComputationGraph::add_const_lookup(const LookupParameter& p,
                                                 const std::vector<unsigned>& indices) {
  return const_lookup(*this, p, indices).i;
}
VariableIndex ComputationGraph::add_const_lookup(const LookupParameter& p,
                                                 const std::vector<unsigned>* pindices) {
  return const_lookup(*this, p, pindices).i;
}

const Tensor& ComputationGraph::forward(const Expression& last) {
  if (!run().is_beside_others) {
    for (const auto& state : run().executor.common().tapes) {
      if (state.tape->random.count > 0) state.tape->draw_again(detail::next_seed());
    }
  }
  if (run().waiter == nullptr) invalidate();
  return get_value(last);
}
const Tensor& ComputationGraph::get_value(const Expression& e) {
  return values_.insert_or_assign(e.i, run().value(e)).first->second;
}

void ComputationGraph::backward(const Expression& last, bool full) {
  detail::take_written_gradients();
  dynet_like::ComputationGraph::backward(last, full);
  detail::refresh_handed_out();
}
const Tensor& ComputationGraph::get_gradient(const Expression& e) {
  return gradients_.insert_or_assign(e.i, run().gradient(e)).first->second;
}

void ComputationGraph::forget_handed_out() {
  values_.clear();
  gradients_.clear();
  nodes.forget();
}
void ComputationGraph::clear() {
  add_to_profile();
  dynet_like::ComputationGraph::clear();
  set_seed(detail::next_seed());
  id_ = ++last_graph;
}
void ComputationGraph::forget_records() {
  dynet_like::ComputationGraph::forget_records();
  forget_handed_out();
  if (is_of_minibatch_) id_ = ++last_graph;  // the next recording is another graph
}
void ComputationGraph::revert() {
  const std::uint32_t random_nodes = record().tape().random.count;
  dynet_like::ComputationGraph::revert();
  record().writer().tape().random.count = random_nodes;  // later nodes draw other random numbers
  forget_handed_out();
}

void ComputationGraph::set_check_validity(bool check_validity) {
  const dynet_like::detail::OneThread::Use use(record().user());
  run().executor_for("set_check_validity").common().options.detect_anomaly = check_validity;
}

void ComputationGraph::print_graphviz() const { dynet_like::write_graphviz(std::cerr, *this); }

void ComputationGraph::dump(const std::string& filename, bool show_values, bool show_gradients,
                            bool nan_check_only) {
  std::ofstream out(filename);
  const auto show = [&](const char* what, const dynet_like::Tensor& tensor) {
    const std::vector<float> elements = as_vector(tensor);
    std::size_t bad = 0;
    for (const float element : elements) bad += std::isfinite(element) ? 0 : 1;
    out << "  " << what << ": ";
    if (nan_check_only) {
      out << bad << " of " << dynet_like::detail::counted(elements.size(), "element")
          << (bad == 1 ? " is" : " are") << " not finite\n";
    }
    for (std::size_t i = 0; !nan_check_only && i < elements.size(); ++i) {
      out << elements[i] << (i + 1 < elements.size() ? ' ' : '\n');
    }
  };
  for (dynet_like::detail::NodeId node = 0; node < record().tape().size(); ++node) {
    const Expression e = expression(record().tape().node(node).value);
    out << node << ' ' << record().tape().type_of(node).op->name << ' ' << e.dim() << '\n';
    if (show_values) show("value", e.value());
    if (show_gradients) show("gradient", e.gradient());
  }
  out.close();
  if (!out) throw dynet_like::FileError(filename, "[ComputationGraph::dump] cannot write");
}

}  // namespace dynet
