// MinibatchPasses: the forward and backward passes of a minibatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/graph/sample_graphs.h"

namespace dynet_like::detail {

/// The losses and outputs of a minibatch, and its passes: over all samples at once, or over parts
/// that fit memory. Public members are documented in Minibatch.
class MinibatchPasses {
 public:
  explicit MinibatchPasses(SampleGraphs& samples)
      : samples_(samples), executor_(samples.executor()) {}

  void check_loss(const Expression& loss, const char* user) const;
  /// For losses that passed the check.
  void add_losses(std::span<const Expression> losses);
  void add_output(const Expression& output);

  void start();
  float loss();
  double loss_of(std::uint32_t begin, std::uint32_t end);
  void check_finite_loss();
  void compute(std::span<const Expression> expressions);
  /// Values of one sample must be adjacent, in the order of samples.
  void compute(std::span<const ValueRef> values);
  void keep_apart(std::span<const std::uint32_t> ends);
  const Gradients& backward();
  void backward(Gradients& gradients);
  void backward(std::span<const std::uint32_t> ends, std::span<Gradients> gradients,
                const OnComplete& complete);

  std::size_t losses() const { return losses_.all.size(); }
  std::size_t trained_losses() const { return trained_losses_; }
  std::size_t parts() const { return parts_.size(); }
  void clear();

 private:
  /// Samples `begin` to `end` - 1.
  struct Part {
    std::uint32_t begin = 0, end = 0;

    bool has(const ValueRef& value) const { return value.tape >= begin && value.tape < end; }
  };
  /// Expressions, of which `forward` has computed the first `computed`.
  struct Targets {
    std::vector<Expression> all;
    std::size_t computed = 0;

    std::span<const Expression> from(std::size_t i) const { return std::span(all).subspan(i); }
  };

  Part all_samples() const { return {0, static_cast<std::uint32_t>(samples_.size())}; }
  void forget_changed(bool look_at_memory);
  void find_parts();
  /// Adds the expressions of a part to `chosen`.
  void choose(std::span<const Expression> expressions, Part part, std::vector<ValueRef>& chosen,
              const char* user = "forward") const;
  void forward_new(Part part);
  void read_losses(Part part, std::span<double> losses);
  void read_new_losses();
  void run_backward(Part part, Gradients& gradients);
  void trained_all(const Gradients* gradients);
  void check_backward() const;
  void check_shards(std::span<const std::uint32_t> ends) const;
  std::string first_not_finite(const ValueRef& loss);

  SampleGraphs& samples_;
  Executor& executor_;
  Targets losses_, outputs_;
  std::vector<double> loss_values_;                    ///< of the first losses, as far as read
  std::uint64_t forgets_ = 0, parameter_changes_ = 0;  ///< of the executor at the last forward pass
  std::vector<Part> parts_;
  std::vector<std::uint32_t> ends_of_shards_;  ///< that run apart; empty: not known
  Gradients gradients_;
  bool ran_forward_ = false;
  bool ran_backward_ = false;  ///< in parts, the forward pass runs backward too
  std::size_t trained_losses_ = 0;
};

}  // namespace dynet_like::detail
