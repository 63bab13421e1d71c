// A minibatch of DyNet's graphs, with the settings and gradients of the process.
#include "dynet/minibatch.h"

#include "dynet_like/compat/profile.h"

namespace dynet {

namespace {

dynet_like::GraphOptions with_settings(dynet_like::GraphOptions options) {
  const dynet_like::GraphOptions& settings = detail::graph_options();
  options.policy = settings.policy;
  options.device = settings.device;
  options.seed = detail::next_seed();
  options.measure_time = settings.measure_time;
  return options;
}

}  // namespace

Minibatch::Minibatch(const dynet_like::GraphOptions& options)
    : dynet_like::Minibatch(
          with_settings(options),
          [](dynet_like::detail::TapeWriter& writer, dynet_like::detail::Executor& executor)
              -> std::unique_ptr<dynet_like::ComputationGraph> {
            return std::unique_ptr<ComputationGraph>(new ComputationGraph(writer, executor));
          }),
      is_profiled_(profiling_flag > 0) {}
Minibatch::~Minibatch() { add_to_profile(); }

ComputationGraph& Minibatch::new_graph() {
  return static_cast<ComputationGraph&>(dynet_like::Minibatch::new_graph());
}
ComputationGraph& Minibatch::graph(std::size_t sample) {
  return static_cast<ComputationGraph&>(dynet_like::Minibatch::graph(sample));
}

void Minibatch::backward() {
  detail::take_written_gradients();
  dynet_like::Minibatch::backward(detail::gradients());
  detail::refresh_handed_out();
}

void Minibatch::clear() {
  add_to_profile();
  dynet_like::Minibatch::clear();
  set_seed(detail::next_seed());
}

void Minibatch::add_to_profile() const {
  if (is_profiled_) detail::add_work_to_profile(*this);
}

}  // namespace dynet
