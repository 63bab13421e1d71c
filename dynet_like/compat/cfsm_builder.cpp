// Softmaxes over all classes, and over classes of words.
#include "dynet/cfsm-builder.h"

#include <algorithm>
#include <limits>

#include "dynet_like/compat/class_file.h"
#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet {

using dynet_like::UsageError;

Expression detail::Logits::operator()(const Expression& rep, bool update) const {
  dynet_like::ComputationGraph& graph = rep.graph("SoftmaxBuilder");
  const auto node = [&](const Parameter& p) {
    return update ? parameter(graph, p) : const_parameter(graph, p);
  };
  return b.p ? affine_transform({node(b), node(w), rep}) : node(w) * rep;
}

Expression detail::neg_log_softmax_of_each(SoftmaxBuilder& builder, const Expression& rep,
                                           const std::vector<unsigned>& words) {
  const unsigned elements = rep.dim().bd;
  if (words.empty() || (elements != 1 && elements != words.size())) {
    throw UsageError("[neg_log_softmax] need one word per minibatch element; got " +
                     dynet_like::detail::counted(words.size(), "word") + ", " +
                     dynet_like::detail::counted(elements, "element"));
  }
  std::vector<Expression> losses;
  for (unsigned i = 0; i < words.size(); ++i) {
    const Expression element = elements == 1 ? rep : pick_batch_elem(rep, i);
    losses.push_back(builder.neg_log_softmax(element, words[i]));
  }
  return concatenate_to_batch(losses);
}

unsigned detail::draw(const Expression& logits) {
  return static_cast<unsigned>(as_scalar(TensorTools::categorical_sample_log_prob(logits.value())));
}

Expression detail::in_order_of_words(std::vector<Expression> parts,
                                     const std::vector<std::optional<unsigned>>& rows) {
  unsigned count = 0;
  for (const Expression& part : parts) count += part.dim().d[0];
  std::vector<unsigned> order;
  order.reserve(rows.size());
  for (const std::optional<unsigned>& row : rows) order.push_back(row.value_or(count));
  if (std::find(rows.begin(), rows.end(), std::nullopt) != rows.end()) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    parts.push_back(constant(parts[0].graph("SoftmaxBuilder"), {1}, -infinity));
  }
  return select_rows(concatenate(parts), order);
}

StandardSoftmaxBuilder::StandardSoftmaxBuilder(unsigned rep_dim, unsigned num_classes,
                                               ParameterCollection& pc, bool bias)
    : model_(pc.add_subcollection("standard-softmax-builder")) {
  logits_.w = model_.add_parameters({num_classes, rep_dim});
  if (bias) logits_.b = model_.add_parameters({num_classes}, ParameterInitConst(0));
}
Expression StandardSoftmaxBuilder::neg_log_softmax(const Expression& rep, unsigned classidx) {
  return pickneglogsoftmax(full_logits(rep), classidx);
}
Expression StandardSoftmaxBuilder::neg_log_softmax(const Expression& rep,
                                                   const std::vector<unsigned>& classidxs) {
  return pickneglogsoftmax(full_logits(rep), classidxs);
}
unsigned StandardSoftmaxBuilder::sample(const Expression& rep) {
  return detail::draw(full_logits(rep));
}
Expression StandardSoftmaxBuilder::full_log_distribution(const Expression& rep) {
  return log_softmax(full_logits(rep));
}

ClassFactoredSoftmaxBuilder::ClassFactoredSoftmaxBuilder(unsigned rep_dim,
                                                         const std::string& cluster_file,
                                                         Dict& word_dict, ParameterCollection& pc,
                                                         bool bias)
    : model_(pc.add_subcollection("class-factored-softmax-builder")) {
  read_classes(cluster_file, word_dict);
  const auto add_logits = [&](std::size_t count) {
    detail::Logits logits;
    const auto rows = static_cast<unsigned>(count);
    logits.w = model_.add_parameters({rows, rep_dim});
    if (bias) logits.b = model_.add_parameters({rows}, ParameterInitConst(0));
    return logits;
  };
  class_logits_ = add_logits(classes_.size());
  for (Class& c : classes_) {
    if (c.words.size() > 1) c.logits = add_logits(c.words.size());
  }
}

void ClassFactoredSoftmaxBuilder::read_classes(const std::string& file, Dict& words) {
  const auto lines = detail::read_class_file(file, detail::FirstField::name, words);
  places_.resize(words.size());
  Dict names;
  for (const detail::ClassedWord& line : lines) {
    const auto c = static_cast<unsigned>(names.convert(line.name));
    if (c == classes_.size()) classes_.emplace_back();
    places_[line.word] = Place{c, static_cast<unsigned>(classes_[c].words.size())};
    classes_[c].words.push_back(line.word);
  }
}

const ClassFactoredSoftmaxBuilder::Class& ClassFactoredSoftmaxBuilder::class_at(
    unsigned index) const {
  if (index < classes_.size()) return classes_[index];
  throw UsageError("[ClassFactoredSoftmaxBuilder] need a class below " +
                   std::to_string(classes_.size()) + "; got " + std::to_string(index));
}

Expression ClassFactoredSoftmaxBuilder::neg_log_softmax(const Expression& rep, unsigned wordidx) {
  if (wordidx >= places_.size() || !places_[wordidx]) {
    throw UsageError("[ClassFactoredSoftmaxBuilder] need a word with a class; got word " +
                     std::to_string(wordidx));
  }
  const Place place = *places_[wordidx];
  const Expression of_class = pickneglogsoftmax(class_logits(rep), place.in_class);
  if (classes_[place.in_class].words.size() == 1) return of_class;
  return of_class + pickneglogsoftmax(subclass_logits(rep, place.in_class), place.index);
}
Expression ClassFactoredSoftmaxBuilder::neg_log_softmax(const Expression& rep,
                                                        const std::vector<unsigned>& wordidxs) {
  return detail::neg_log_softmax_of_each(*this, rep, wordidxs);
}

unsigned ClassFactoredSoftmaxBuilder::sample(const Expression& rep) {
  const unsigned c = detail::draw(class_logits(rep));
  return classes_[c].words[detail::draw(subclass_logits(rep, c))];
}

Expression ClassFactoredSoftmaxBuilder::full_log_distribution(const Expression& rep) {
  const Expression of_classes = class_log_distribution(rep);
  std::vector<Expression> parts;
  std::vector<unsigned> starts;
  for (unsigned c = 0, start = 0; c < classes_.size(); ++c) {
    const Expression of_class = pick_range(of_classes, c, c + 1);
    parts.push_back(of_class + subclass_log_distribution(rep, c));
    starts.push_back(start);
    start += static_cast<unsigned>(classes_[c].words.size());
  }
  std::vector<std::optional<unsigned>> rows;
  for (const std::optional<Place>& place : places_) {
    rows.push_back(place ? std::optional(starts[place->in_class] + place->index) : std::nullopt);
  }
  return detail::in_order_of_words(std::move(parts), rows);
}

Expression ClassFactoredSoftmaxBuilder::class_log_distribution(const Expression& rep) {
  return log_softmax(class_logits(rep));
}
Expression ClassFactoredSoftmaxBuilder::subclass_log_distribution(const Expression& rep,
                                                                  unsigned clusteridx) {
  return log_softmax(subclass_logits(rep, clusteridx));
}
Expression ClassFactoredSoftmaxBuilder::subclass_logits(const Expression& rep,
                                                        unsigned clusteridx) {
  const Class& c = class_at(clusteridx);
  if (c.words.size() == 1) return zeros(rep.graph("SoftmaxBuilder"), Dim({1}, rep.dim().bd));
  return c.logits(rep, update_);
}

}  // namespace dynet
