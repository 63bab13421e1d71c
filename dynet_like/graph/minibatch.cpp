// Minibatch: passes calls on to its samples, their passes and their fibers, one thread at a time.
#include "dynet_like/graph/minibatch.h"

#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/sample_fibers.h"
#include "dynet_like/report/make_report.h"

namespace dynet_like {

using detail::Alone;

Minibatch::Minibatch(const GraphOptions& options) : Minibatch(options, nullptr) {}
Minibatch::Minibatch(const GraphOptions& options,
                     std::unique_ptr<ComputationGraph> (*make)(detail::TapeWriter&,
                                                               detail::Executor&))
    : samples_(std::make_unique<detail::SampleGraphs>(options, make)),
      passes_(std::make_unique<detail::MinibatchPasses>(*samples_)),
      fibers_(std::make_unique<detail::SampleFibers>(*samples_, *passes_)) {}
Minibatch::~Minibatch() = default;

std::size_t Minibatch::size() const { return samples_->size(); }
std::size_t Minibatch::parts() const { return passes_->parts(); }
const GraphOptions& Minibatch::options() const { return samples_->executor().options(); }
Minibatch::Losses Minibatch::losses() const {
  return {passes_->losses(), passes_->trained_losses()};
}

ComputationGraph& Minibatch::new_graph() { return Alone(*samples_, *samples_, "new_graph")->add(); }

ComputationGraph& Minibatch::graph(std::size_t sample) {
  const Alone samples(*samples_, *samples_, "Minibatch::graph");
  if (sample < size()) return samples->graph(sample);
  throw UsageError("[Minibatch::graph] need a sample below " + std::to_string(size()) + "; got " +
                   detail::index_text(sample));
}

void Minibatch::seed_samples(std::span<const std::uint64_t> seeds) {
  Alone(*samples_, *samples_, "seed_samples")->seed_samples(seeds);
}
void Minibatch::set_seed(std::uint64_t seed) { samples_->set_seed(seed); }

void Minibatch::add_loss(const Expression& loss) {
  const Alone passes(*samples_, *passes_, "add_loss");
  passes->check_loss(loss, "add_loss");
  passes->add_losses(std::span(&loss, 1));
}

void Minibatch::add_losses(std::span<const Expression> losses) {
  const Alone passes(*samples_, *passes_, "add_losses");
  for (const Expression& loss : losses) passes->check_loss(loss, "add_losses");
  passes->add_losses(losses);
}

void Minibatch::add_losses(std::size_t count, const RecordSample& loss_of) {
  const Alone passes(*samples_, *passes_, "record");
  const auto record = [&](ComputationGraph& graph, std::size_t i) {
    const Expression loss = loss_of(graph, i);
    passes->check_loss(loss, "add_losses");
    return loss;
  };
  passes->add_losses(samples_->record(count, record));
}

std::vector<Expression> Minibatch::record(std::size_t count, const RecordSample& record) {
  return Alone(*samples_, *samples_, "record")->record(count, record);
}

void Minibatch::run_samples(std::size_t count, const RunSample& run, const TakeSample& take) {
  const char* const user = take ? "for_each_arriving" : "for_each_sample";
  const Alone fibers(*samples_, *fibers_, user);
  if (take && (!options().inference || count == 0)) {
    throw UsageError(
        "[for_each_arriving] need GraphOptions::inference, and at least one sample at once; got " +
        std::string(options().inference ? "inference" : "training") + " and " +
        std::to_string(count));
  }
  fibers->run(count, run, take ? &take : nullptr);
}

void Minibatch::add_output(const Expression& output) {
  Alone(*samples_, *passes_, "add_output")->add_output(output);
}

float Minibatch::forward(std::span<const std::uint32_t> shards) {
  const Alone passes(*samples_, *passes_, "forward");
  if (!shards.empty()) passes->keep_apart(shards);
  passes->start();
  return passes->loss();
}

void Minibatch::start() { Alone(*samples_, *passes_, "forward")->start(); }
float Minibatch::loss() { return Alone(*samples_, *passes_, "loss")->loss(); }

double Minibatch::loss_of(std::uint32_t begin, std::uint32_t end) {
  return Alone(*samples_, *passes_, "loss")->loss_of(begin, end);
}

void Minibatch::check_finite_loss() {
  Alone(*samples_, *passes_, "check_finite_loss")->check_finite_loss();
}

void Minibatch::compute(std::span<const Expression> expressions) {
  Alone(*samples_, *passes_, "compute")->compute(expressions);
}

const Gradients& Minibatch::backward() {
  return Alone(*samples_, *passes_, "backward")->backward();
}

void Minibatch::backward(Gradients& gradients) {
  Alone(*samples_, *passes_, "backward")->backward(gradients);
}

void Minibatch::backward(std::span<const std::uint32_t> shards, std::span<Gradients> gradients,
                         const OnComplete& complete) {
  Alone(*samples_, *passes_, "backward")->backward(shards, gradients, complete);
}

Report Minibatch::explain() const {
  const Alone samples(*samples_, *samples_, "explain");
  Report report = detail::make_report(samples->executor());
  fibers_->tell(report);
  return report;
}

std::string Minibatch::draw_batches(const BatchPicture& what) const {
  return detail::draw_batches(Alone(*samples_, *samples_, "draw_batches")->executor(), what);
}

void Minibatch::clear() {
  const Alone samples(*samples_, *samples_, "clear");
  passes_->clear();
  fibers_->clear();
  samples->clear();
}

}  // namespace dynet_like
