// SemiMarkovCRF: sums and best segmentations from left to right, a few nodes per position.
#include "nn/structured/semi_markov_crf.h"

#include <algorithm>
#include <cmath>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/structured/best.h"
#include "nn/structured/minibatch_range.h"
#include "nn/structured/span_scores.h"

namespace dynet_like::nn {

namespace {

/// The scores of all segments with one end, a column per length, from long to short. Ends that have
/// equally many are one node.
std::vector<Expression> segments_by_end(std::span<const Expression> scores, unsigned words) {
  const auto longest = static_cast<unsigned>(scores.size());
  std::vector<Expression> by_end;
  const auto add = [&](unsigned lengths, unsigned first_end, unsigned ends) {
    std::vector<Expression> columns;
    for (unsigned length = lengths; length > 0; --length) {
      columns.push_back(minibatch_range(scores[length - 1], first_end - length, ends));
    }
    const Expression all = concatenate_cols(columns);
    for (unsigned i = 0; i < ends; ++i) by_end.push_back(pick_batch_elem(all, i));
  };
  for (unsigned end = 1; end < longest; ++end) add(end, end, 1);
  add(longest, longest, words - longest + 1);
  return by_end;
}

unsigned at_least_one(unsigned max_length) {
  if (max_length > 0) return max_length;
  throw UsageError("[SemiMarkovCRF] need segments of at least 1 word; got at most 0");
}

}  // namespace

SemiMarkovCRF::SemiMarkovCRF(ParameterCollection& model, unsigned labels, unsigned max_length,
                             const std::string& name)
    : max_length_(at_least_one(max_length)), chain_(model, labels, name) {}

unsigned SemiMarkovCRF::check(std::span<const Expression> scores) const {
  const unsigned words = check_span_scores("SemiMarkovCRF", scores, max_length_);
  if (scores[0].dim().rows() == labels()) return words;
  throw ShapeError("[SemiMarkovCRF] need one score per label, {" + std::to_string(labels()) +
                   "}; got " + to_string(scores[0].dim()));
}

void SemiMarkovCRF::check(unsigned words, std::span<const LabelledSpan> segments) const {
  unsigned end = 0;
  for (const LabelledSpan& segment : segments) {
    if (segment.label >= labels()) {
      throw UsageError("[SemiMarkovCRF] need labels below " + std::to_string(labels()) + "; got " +
                       detail::index_text(segment.label));
    }
    if (segment.start != end || segment.end <= end || segment.end - end > max_length_) {
      throw UsageError("[SemiMarkovCRF] need segments of up to " + std::to_string(max_length_) +
                       " words, each where the last one ends; got " +
                       std::to_string(segment.start) + " to " + std::to_string(segment.end) +
                       " behind " + std::to_string(end));
    }
    end = segment.end;
  }
  if (end == words) return;
  throw UsageError("[SemiMarkovCRF] need segments of all " + std::to_string(words) +
                   " words; got those of " + std::to_string(end));
}

Expression SemiMarkovCRF::loss(std::span<const Expression> scores,
                               std::span<const LabelledSpan> gold) const {
  return log_partition(scores) - score(scores, gold);
}

Expression SemiMarkovCRF::log_partition(std::span<const Expression> scores) const {
  const unsigned words = check(scores);
  ComputationGraph& graph = *scores[0].pg;
  const Expression transitions = parameter(graph, chain_.transitions);
  const std::vector<Expression> by_end = segments_by_end(scores, words);
  // For every position and label, ln of the sum over what can stand before a segment that begins
  // there with this label.
  std::vector<Expression> before = {parameter(graph, chain_.start)};
  while (true) {
    const std::size_t end = before.size(), lengths = std::min(end, scores.size());
    const std::vector<Expression> starts(before.end() - static_cast<long>(lengths), before.end());
    const Expression upto = logsumexp_dim(concatenate_cols(starts) + by_end[end - 1], 1);
    if (end == words) return logsumexp_dim(upto + parameter(graph, chain_.end), 0);
    before.push_back(logsumexp_dim(upto + transitions, 0));
  }
}

Expression SemiMarkovCRF::score(std::span<const Expression> scores,
                                std::span<const LabelledSpan> segments) const {
  check(check(scores), segments);
  std::vector<unsigned> sequence;
  std::vector<Expression> terms;
  for (const auto& [start, end, label] : segments) {
    terms.push_back(pick(pick_batch_elem(scores[end - start - 1], start), label));
    sequence.push_back(label);
  }
  terms.push_back(chain_.score(*scores[0].pg, sequence));
  return sum(terms);
}

std::vector<LabelledSpan> SemiMarkovCRF::best(std::span<const Expression> scores) const {
  const unsigned words = check(scores), n = labels();
  const SpanNumbers numbers("SemiMarkovCRF", scores);
  const auto numbers_of = [](const Parameter& parameter) {
    return checked_numbers("SemiMarkovCRF", parameter.get_storage().tensor());
  };
  const auto transitions = numbers_of(chain_.transitions), first = numbers_of(chain_.start),
             last = numbers_of(chain_.end);
  // By position and label: the best length of a segment that ends there, and the best label before
  // a segment that begins there.
  std::vector<Best> upto(std::size_t{words + 1} * n), before(upto);
  for (unsigned label = 0; label < n; ++label) before[label].offer(first[label], 0);
  for (unsigned end = 1; end <= words; ++end) {
    for (unsigned length = 1; length <= std::min(end, max_length_); ++length) {
      const std::span<const double> of_segment = numbers(end - length, length);
      for (unsigned label = 0; label < n; ++label) {
        const double score_before = before[std::size_t{end - length} * n + label].score;
        upto[std::size_t{end} * n + label].offer(score_before + of_segment[label], length);
      }
    }
    for (unsigned label = 0; label < n; ++label) {
      for (unsigned previous = 0; previous < n; ++previous) {
        const double score = upto[std::size_t{end} * n + previous].score;
        before[std::size_t{end} * n + label].offer(score + transitions[previous + n * label],
                                                   previous);
      }
    }
  }
  Best label;
  for (unsigned y = 0; y < n; ++y) label.offer(upto[std::size_t{words} * n + y].score + last[y], y);
  if (std::isinf(label.score)) {
    throw UsageError("[SemiMarkovCRF] need a segmentation that is not forbidden; got -infinity");
  }
  std::vector<LabelledSpan> segments;
  for (unsigned end = words, y = label.at; end > 0;) {
    const unsigned start = end - upto[std::size_t{end} * n + y].at;
    segments.push_back({start, end, y});
    y = before[std::size_t{start} * n + y].at;
    end = start;
  }
  std::ranges::reverse(segments);
  return segments;
}

}  // namespace dynet_like::nn
