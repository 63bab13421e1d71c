// Minibatch: many graphs that are planned and run together.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/graph/computation_graph.h"

namespace dynet_like {

/// One graph per sample, one plan and one backward pass over all of them. Results are the same bits
/// as those of the samples run one by one. Clear it and use it again: it keeps its memory.
class Minibatch {
 public:
  using RecordSample = std::function<Expression(ComputationGraph& graph, std::size_t i)>;

  explicit Minibatch(const GraphOptions& options = {});

  /// The graph of the next sample. It lives until the minibatch is cleared or destroyed.
  ComputationGraph& new_graph();
  std::size_t size() const { return used_; }
  /// Throws UsageError if there is no such sample.
  ComputationGraph& graph(std::size_t sample);

  /// A term of the total loss: one number per minibatch element of its graph. Throws ShapeError.
  void add_loss(const Expression& loss);
  /// Records `count` new samples beside each other, with GraphOptions::threads threads:
  /// record(graph, i) records sample i into its graph and returns an expression of it. Returns
  /// these in order. All results are those of recording one after the other.
  ///
  /// `record` may read what samples share, such as parameters and layers, and must not write it.
  /// Inside it nothing can be run: what needs values, or this minibatch, throws UsageError. If
  /// samples fail, the exception of the first is thrown on, with ", in sample N" if it is the
  /// library's own; the graphs stay, as far as they were recorded, until `clear`.
  std::vector<Expression> record(std::size_t count, const RecordSample& record);
  /// The same, and every expression is a loss as for add_loss; none is added if a sample fails.
  void add_losses(std::size_t count, const RecordSample& loss_of);
  /// A value that `forward` computes, too. In inference all others may be freed.
  void add_output(const Expression& output);

  /// Computes what is not yet computed of all losses and outputs, and all anew if a parameter has
  /// changed; returns the sum of the losses, in the order of add_loss (their mean is not taken).
  /// With a memory_limit that needs parts, it runs backward part by part, too, and keeps no values.
  float forward();
  /// The gradients of the total loss, valid until the next pass or `clear`.
  const Gradients& backward();
  /// The same, added to gradients of the caller: accumulated minibatches have the bits of one.
  void backward(Gradients& gradients);

  /// Forgets all graphs; their expressions become stale. Dropout draws new numbers.
  void clear();

  /// How the nodes were batched since the last clear.
  Report explain() const;
  /// In how many parts it ran because of GraphOptions::memory_limit.
  std::size_t parts() const { return parts_.size(); }
  /// Calls back when a parameter's gradient is complete, in `backward`.
  void on_gradient_complete(std::function<void(const ParameterStorage&)> callback) {
    executor_.on_gradient_complete(std::move(callback));
  }

 private:
  /// Consecutive samples.
  struct Part {
    std::uint32_t begin = 0, end = 0;
    bool contains(const ValueRef& ref) const { return ref.tape >= begin && ref.tape < end; }
  };

  const Expression& checked(const Expression& e, const char* user) const;
  void check_loss(const Expression& loss, const char* user) const;
  void check_alone(const char* user) const;
  void set_recording(bool recording);
  std::vector<Expression> record_from(std::size_t first, const RecordSample& record);
  ValueRef ref(const Expression& e, const char* user) const { return e.pg->ref(e, user); }
  void find_parts();
  /// Those that belong to a part, in the order of the samples.
  std::vector<ValueRef> choose(std::span<const Expression> expressions, Part part) const;
  void run_part(Part part);
  void run_backward(Part part, Gradients& gradients);
  void run_all_parts(Gradients& gradients);
  void check_backward() const;

  std::shared_ptr<TypeTable> types_;
  std::vector<std::unique_ptr<TypeCache>> caches_;  ///< by thread; the first is the caller's
  bool recording_ = false;                          ///< inside `record`
  Executor executor_;
  std::vector<std::unique_ptr<ComputationGraph>> graphs_;  ///< those behind `used_` are spare
  std::size_t used_ = 0;
  std::vector<Expression> losses_, outputs_;
  std::vector<double> loss_values_;
  std::vector<Part> parts_;
  Gradients gradients_;
  bool ran_forward_ = false;
  bool ran_backward_ = false;  ///< in parts, the forward pass runs backward too
};

}  // namespace dynet_like
