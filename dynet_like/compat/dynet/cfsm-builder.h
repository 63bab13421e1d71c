// DyNet's cfsm-builder.h: distributions over many classes, such as the words of a vocabulary.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dynet/dict.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"

namespace dynet {

/// A distribution over classes, numbered from 0, that depends on a representation. Expressions
/// belong to the graph of the representation. Arguments out of range throw UsageError.
class SoftmaxBuilder {
 public:
  virtual ~SoftmaxBuilder() = default;

  /// From now on, its parameters have gradients or, without `update`, none.
  virtual void new_graph(ComputationGraph& cg, bool update = true) = 0;
  /// The negative log likelihood of a class, or of one class per minibatch element. Shapes:
  /// {rep_dim} -> {1}.
  virtual Expression neg_log_softmax(const Expression& rep, unsigned classidx) = 0;
  virtual Expression neg_log_softmax(const Expression& rep,
                                     const std::vector<unsigned>& classidxs) = 0;
  /// Draws a class from the distribution, for one minibatch element.
  virtual unsigned sample(const Expression& rep) = 0;
  /// The log probabilities of all classes. Shapes: {rep_dim} -> {classes}.
  virtual Expression full_log_distribution(const Expression& rep) = 0;
  /// Numbers whose softmax is the distribution. Shapes: {rep_dim} -> {classes}.
  virtual Expression full_logits(const Expression& rep) = 0;
  virtual ParameterCollection& get_parameter_collection() = 0;
};

namespace detail {

/// W rep + b, or W rep if b is empty.
struct Logits {
  Parameter w, b;

  Expression operator()(const Expression& rep, bool update) const;
};

/// Calls builder.neg_log_softmax for every minibatch element. One representation may serve all
/// words.
Expression neg_log_softmax_of_each(SoftmaxBuilder& builder, const Expression& rep,
                                   const std::vector<unsigned>& words);
/// Draws a position from a distribution, given by logarithms (up to a constant).
unsigned draw(const Expression& logits);
/// Element i of the result is element rows[i] of the concatenated parts, or -infinity if it has no
/// row.
Expression in_order_of_words(std::vector<Expression> parts,
                             const std::vector<std::optional<unsigned>>& rows);

}  // namespace detail

/// One softmax over all classes.
class StandardSoftmaxBuilder : public SoftmaxBuilder {
 public:
  StandardSoftmaxBuilder(unsigned rep_dim, unsigned num_classes, ParameterCollection& pc,
                         bool bias = true);
  /// Uses the caller's parameters. Shapes: {classes, rep_dim} {classes}.
  StandardSoftmaxBuilder(const Parameter& p_w, const Parameter& p_b) : logits_{p_w, p_b} {}
  explicit StandardSoftmaxBuilder(const Parameter& p_w) : logits_{p_w, {}} {}

  void new_graph(ComputationGraph&, bool update = true) override { update_ = update; }
  Expression neg_log_softmax(const Expression& rep, unsigned classidx) override;
  Expression neg_log_softmax(const Expression& rep,
                             const std::vector<unsigned>& classidxs) override;
  unsigned sample(const Expression& rep) override;
  Expression full_log_distribution(const Expression& rep) override;
  Expression full_logits(const Expression& rep) override { return logits_(rep, update_); }
  /// Empty if the parameters are the caller's.
  ParameterCollection& get_parameter_collection() override { return model_; }

 private:
  ParameterCollection model_;
  detail::Logits logits_;
  bool update_ = true;
};

/// A softmax over classes of words, then one over the words of the class (Goodman 2001, "Classes
/// for fast maximum entropy training"): much less work than a softmax over all words. Words are
/// numbered as in the dictionary; words without a class have probability 0.
class ClassFactoredSoftmaxBuilder : public SoftmaxBuilder {
 public:
  /// Lines of the file: "class word"; the rest is ignored (such as the counts of Brown clusters).
  /// Words are added to the dictionary. If it is frozen, words that it converts to its unknown word
  /// are skipped. Throws FileError for a malformed file, or a word that occurs twice.
  ClassFactoredSoftmaxBuilder(unsigned rep_dim, const std::string& cluster_file, Dict& word_dict,
                              ParameterCollection& pc, bool bias = true);

  void new_graph(ComputationGraph&, bool update = true) override { update_ = update; }
  Expression neg_log_softmax(const Expression& rep, unsigned wordidx) override;
  Expression neg_log_softmax(const Expression& rep, const std::vector<unsigned>& wordidxs) override;
  unsigned sample(const Expression& rep) override;
  Expression full_log_distribution(const Expression& rep) override;
  /// The log probabilities.
  Expression full_logits(const Expression& rep) override { return full_log_distribution(rep); }

  /// The log probabilities of the classes, in the order of their first lines.
  Expression class_log_distribution(const Expression& rep);
  Expression class_logits(const Expression& rep) { return class_logits_(rep, update_); }
  /// The log probabilities of the words of a class, in the order of their lines.
  Expression subclass_log_distribution(const Expression& rep, unsigned clusteridx);
  Expression subclass_logits(const Expression& rep, unsigned clusteridx);

  /// Does nothing: parameters become nodes when they are used.
  void initialize_expressions() {}
  ParameterCollection& get_parameter_collection() override { return model_; }

 private:
  struct Class {
    std::vector<unsigned> words;
    detail::Logits logits;  ///< empty for a single word
  };
  struct Place {
    unsigned in_class, index;
  };

  void read_classes(const std::string& file, Dict& words);
  const Class& class_at(unsigned index) const;

  ParameterCollection model_;
  detail::Logits class_logits_;
  std::vector<Class> classes_;
  std::vector<std::optional<Place>> places_;  ///< by word
  bool update_ = true;
};

}  // namespace dynet
