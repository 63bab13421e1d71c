// SemiMarkovCRF: the sum as a recursion from left to right, and the best segmentation.
#include "nn/structured/semi_markov_crf.h"

#include <algorithm>
#include <cmath>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "nn/structured/best.h"
#include "nn/structured/span_scores.h"

namespace dynet_like::nn {

namespace {

/// A column for every end: the scores of all segments that end there, from short to long. Segments
/// that would begin before the first word have zeros, which are never read.
Expression segments_by_end(std::span<const Expression> scores, unsigned words, unsigned longest) {
  const unsigned labels = scores[0].dim().rows();
  std::vector<Expression> by_length;
  for (unsigned length = 1; length <= longest; ++length) {
    if (length > words) {
      by_length.push_back(zeros(*scores[0].pg, {labels}));
      continue;
    }
    std::vector<unsigned> counts(words, 1);
    std::fill_n(counts.begin(), length - 1, 0);
    const Expression all = reshape(scores[length - 1], {labels, words - length + 1});
    by_length.push_back(reshape(segment_sum(all, counts), Dim({labels}, words)));
  }
  return reshape(concatenate(by_length), {labels * longest, words});
}

/// Where the predecessors of segments that end at a word may end: at earlier words, the nearest
/// first; with kind `from_start`, also at the beginning of the sentence.
enum Kind : unsigned { from_words, from_start };

Structure ends_of(unsigned words, unsigned longest) {
  std::vector<Structure::Vertex> vertices(words);
  for (unsigned word = 0; word < words; ++word) {
    vertices[word].column = word;
    vertices[word].kind = word < longest ? from_start : from_words;
    for (unsigned length = 1; length <= std::min(word, longest); ++length) {
      vertices[word].predecessors.push_back(word - length);
    }
  }
  return Structure(vertices);
}

}  // namespace

SemiMarkovCRF::SemiMarkovCRF(ParameterCollection& model, unsigned labels,
                             const SemiMarkovCRFOptions& options)
    : max_length_(required("SemiMarkovCRF", "max_length", options.max_length)),
      chain_(add_layer(model, options.name, "semi_markov_crf"), labels),
      prefixes_(recursion<Prefixes>(
          [chain = chain_](unsigned kind, const Expression& segments,
                           const std::vector<Prefixes>& before) {
            const unsigned n = chain.labels();
            std::vector<Expression> starts;
            for (const Prefixes& each : before) starts.push_back(each[1]);
            if (kind == from_start) starts.push_back(parameter(segments.graph(), chain.start));
            const auto lengths = static_cast<unsigned>(starts.size());
            const Expression scores = reshape(pick_range(segments, 0, n * lengths), {n, lengths});
            const Expression upto = logsumexp_dim(concatenate_cols(starts) + scores, 1);
            return Prefixes{upto, logsumexp_dim(upto + chain.transitions, 0)};
          },
          "SemiMarkovCRF")) {}

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
      throw UsageError("[SemiMarkovCRF] need segments of up to " +
                       detail::counted(max_length_, "word") +
                       ", each where the last one ends; got " + std::to_string(segment.start) +
                       " to " + std::to_string(segment.end) + " behind " + std::to_string(end));
    }
    end = segment.end;
  }
  if (end == words) return;
  throw UsageError("[SemiMarkovCRF] need segments of all " + detail::counted(words, "word") +
                   "; got those of " + std::to_string(end));
}

Expression SemiMarkovCRF::loss(std::span<const Expression> scores,
                               std::span<const LabelledSpan> gold) const {
  return log_partition(scores) - score(scores, gold);
}

Expression SemiMarkovCRF::log_partition(std::span<const Expression> scores) const {
  const unsigned words = check(scores);
  const States<Prefixes> prefixes =
      prefixes_(ends_of(words, max_length_), segments_by_end(scores, words, max_length_));
  return logsumexp_dim(prefixes.last()[0] + chain_.end, 0);
}

Expression SemiMarkovCRF::score(std::span<const Expression> scores,
                                std::span<const LabelledSpan> segments) const {
  check(check(scores), segments);
  std::vector<unsigned> sequence;
  std::vector<std::vector<unsigned>> starts(scores.size()), labels(scores.size());  // by length
  for (const auto& [start, end, label] : segments) {
    starts[end - start - 1].push_back(start);
    labels[end - start - 1].push_back(label);
    sequence.push_back(label);
  }
  std::vector<Expression> terms = {chain_.score(*scores[0].pg, sequence)};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (starts[i].empty()) continue;
    const Expression picked = pick(pick_batch_elems(scores[i], starts[i]), labels[i]);
    const auto count = static_cast<unsigned>(starts[i].size());
    terms.push_back(reshape(segment_sum(reshape(picked, {1, count}), {count}), {1}));
  }
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
