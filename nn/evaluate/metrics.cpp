// Metrics: counting and dividing.
#include "nn/evaluate/metrics.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn {

namespace {

double share(std::size_t part, std::size_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

bool contains(std::span<const std::size_t> labels, std::size_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

}  // namespace

void Accuracy::add(std::size_t right, std::size_t count) {
  if (right > count) {
    throw UsageError(fmt::format("[Accuracy] need at most as many right as there are; got {} of {}",
                                 right, count));
  }
  right_ += right;
  count_ += count;
}

void check_as_many(std::size_t found, std::size_t gold) {
  if (found == gold) return;
  throw UsageError(
      fmt::format("[accuracy] need as many predictions as samples; got {} for {}", found, gold));
}

double Accuracy::value() const { return share(right_, count_); }

double PrecisionRecall::precision() const { return share(right, found); }
double PrecisionRecall::recall() const { return share(right, gold); }
double PrecisionRecall::f1() const { return share(2 * right, found + gold); }

ClassScores::ClassScores(std::size_t classes) : of_class_(classes), counts_(classes * classes) {
  if (classes == 0) throw UsageError("[ClassScores] need 1 class or more; got 0");
}

void ClassScores::check(std::size_t label) const {
  if (label < classes()) return;
  throw UsageError(fmt::format("[ClassScores] need a class below {}; got {}", classes(),
                               detail::index_text(label)));
}

void ClassScores::add(std::size_t gold, std::size_t predicted) {
  check(gold);
  check(predicted);
  ++counts_[gold * classes() + predicted];
  ++of_class_[gold].gold;
  ++of_class_[predicted].found;
  if (gold == predicted) ++of_class_[gold].right;
}

std::size_t ClassScores::count(std::size_t gold, std::size_t predicted) const {
  check(gold);
  check(predicted);
  return counts_[gold * classes() + predicted];
}

const PrecisionRecall& ClassScores::of(std::size_t label) const {
  check(label);
  return of_class_[label];
}

PrecisionRecall ClassScores::micro(std::span<const std::size_t> left_out) const {
  PrecisionRecall sum;
  for (std::size_t label = 0; label < classes(); ++label) {
    if (contains(left_out, label)) continue;
    sum.right += of_class_[label].right;
    sum.found += of_class_[label].found;
    sum.gold += of_class_[label].gold;
  }
  return sum;
}

ClassScores::Means ClassScores::macro(std::span<const std::size_t> left_out) const {
  Means sum;
  double count = 0;
  for (std::size_t label = 0; label < classes(); ++label) {
    if (contains(left_out, label)) continue;
    const PrecisionRecall& own = of_class_[label];
    sum.precision += own.precision();
    sum.recall += own.recall();
    sum.f1 += own.f1();
    ++count;
  }
  if (count == 0) return {};
  return {sum.precision / count, sum.recall / count, sum.f1 / count};
}

void Perplexity::add(double loss, std::size_t words) {
  loss_ += loss;
  words_ += words;
}

double Perplexity::nats() const { return words_ == 0 ? 0 : loss_ / static_cast<double>(words_); }
double Perplexity::value() const { return std::exp(nats()); }

AttachmentScores::AttachmentScores(std::span<const ConlluSentence> gold,
                                   std::span<const ConlluSentence> predicted) {
  if (gold.size() != predicted.size()) {
    throw UsageError(
        fmt::format("[AttachmentScores] need as many predicted sentences as gold ones, {}; got {}",
                    gold.size(), predicted.size()));
  }
  for (std::size_t i = 0; i < gold.size(); ++i) add(gold[i], predicted[i]);
}

void AttachmentScores::add(std::span<const Arc> gold, std::span<const Arc> predicted,
                           std::span<const std::string> parts_of_speech) {
  if (gold.size() != predicted.size() ||
      (!parts_of_speech.empty() && parts_of_speech.size() != gold.size())) {
    throw UsageError(fmt::format(
        "[AttachmentScores] need as many predicted arcs, and parts of speech if there are any, as "
        "gold arcs; got {} and {} for {}",
        predicted.size(), parts_of_speech.size(), gold.size()));
  }
  for (std::size_t i = 0; i < gold.size(); ++i) {
    if (!parts_of_speech.empty() && parts_of_speech[i] == "PUNCT") continue;
    const bool is_attached = gold[i].head == predicted[i].head;
    heads_.add(is_attached);
    labels_.add(is_attached && gold[i].label == predicted[i].label);
  }
}

void AttachmentScores::add(const ConlluSentence& gold, const ConlluSentence& predicted) {
  const auto arcs_of = [](const ConlluSentence& sentence) {
    std::vector<Arc> arcs;
    for (const std::uint32_t head : sentence.heads())
      arcs.push_back({head, sentence.words[arcs.size()].deprel});
    return arcs;
  };
  add(arcs_of(gold), arcs_of(predicted));
}

}  // namespace dynet_like::nn
