// A CRF over labelled spans: the inside algorithm, with a few nodes per width, and the best tree.
#include "nn/structured/span_crf.h"

#include <algorithm>
#include <cmath>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/structured/best.h"
#include "nn/structured/span_chart.h"
#include "nn/structured/span_scores.h"

namespace dynet_like::nn {

namespace {

/// Whether the spans from `next` on begin with a complete tree over these words. Spans are ordered
/// such that each comes before its parts. Moves `next` behind the tree.
bool is_tree(std::span<const LabelledSpan> spans, std::size_t& next, unsigned start, unsigned end) {
  if (next == spans.size() || spans[next].start != start || spans[next].end != end) return false;
  ++next;
  if (end - start == 1) return true;
  if (next == spans.size()) return false;
  const unsigned middle = spans[next].end;
  if (middle <= start || middle >= end) return false;
  return is_tree(spans, next, start, middle) && is_tree(spans, next, middle, end);
}

void check_tree(std::span<const LabelledSpan> tree, unsigned words, unsigned labels) {
  std::vector<LabelledSpan> spans(tree.begin(), tree.end());
  for (const LabelledSpan& span : spans) {
    if (span.label < labels) continue;
    throw UsageError("[span_score] need labels below " + std::to_string(labels) + "; got " +
                     detail::index_text(span.label) + " for the span " + to_string(span));
  }
  std::ranges::sort(spans, comes_before);
  std::size_t next = 0;
  if (spans.size() == 2 * std::size_t{words} - 1 && is_tree(spans, next, 0, words)) return;
  std::string all;
  for (const LabelledSpan& span : spans) all += ", " + to_string(span);
  throw UsageError("[span_score] need the " + detail::counted(2 * std::size_t{words} - 1, "span") +
                   " of a binary tree over " + detail::counted(words, "word") + "; got " +
                   detail::counted(spans.size(), "span") + all);
}

/// The best tree of every span, from narrow to wide.
class CkyChart {
 public:
  explicit CkyChart(const SpanNumbers& numbers, unsigned words) {
    cells_.resize(words);
    for (unsigned width = 1; width <= words; ++width) {
      for (unsigned start = 0; start + width <= words; ++start) {
        Cell cell;
        const std::span<const double> scores = numbers(start, width);
        for (unsigned i = 0; i < scores.size(); ++i) cell.label.offer(scores[i], i);
        for (unsigned left = 1; left < width; ++left) {
          cell.left.offer(at(start, left).score + at(start + left, width - left).score, left);
        }
        cell.score = cell.label.score + cell.left.score;
        cells_[width - 1].push_back(cell);
      }
    }
  }

  double score() const { return cells_.back()[0].score; }

  void read(unsigned start, unsigned width, std::vector<LabelledSpan>& tree) const {
    const Cell& cell = at(start, width);
    tree.push_back({start, start + width, cell.label.at});
    if (width == 1) return;
    read(start, cell.left.at, tree);
    read(start + cell.left.at, width - cell.left.at, tree);
  }

 private:
  struct Cell {
    double score = 0;
    Best label, left;  ///< `left`: the width of the left part
  };

  const Cell& at(unsigned start, unsigned width) const { return cells_[width - 1][start]; }

  std::vector<std::vector<Cell>> cells_;  ///< by width and start
};

}  // namespace

Expression span_loss(std::span<const Expression> scores, std::span<const LabelledSpan> gold) {
  check_span_scores("span_loss", scores);
  return span_log_partition(scores) - span_score(scores, gold);
}

Expression span_log_partition(std::span<const Expression> scores) {
  const unsigned words = check_span_scores("span_log_partition", scores);
  // The label of a span depends on nothing else.
  Expression inside = logsumexp_dim(scores[0], 0);
  SpanChart chart;
  chart.add(inside);
  for (unsigned width = 2; width <= words; ++width) {
    const unsigned count = words - width + 1;
    inside = logsumexp_dim(scores[width - 1], 0) +
             logsumexp_dim(chart.by_start(count) + chart.by_end(count), 0);
    chart.add(inside);
  }
  return inside;
}

Expression span_score(std::span<const Expression> scores, std::span<const LabelledSpan> tree) {
  const unsigned words = check_span_scores("span_score", scores);
  check_tree(tree, words, scores[0].dim().rows());
  std::vector<Expression> terms;
  for (const LabelledSpan& span : tree) {
    const Expression of_span = pick_batch_elem(scores[span.end - span.start - 1], span.start);
    terms.push_back(pick(of_span, span.label));
  }
  return sum(terms);
}

std::vector<LabelledSpan> best_spans(std::span<const Expression> scores) {
  const unsigned words = check_span_scores("best_spans", scores);
  const CkyChart chart({"best_spans", scores}, words);
  if (std::isinf(chart.score())) {
    throw UsageError("[best_spans] need a tree without forbidden spans; got -infinity in all");
  }
  std::vector<LabelledSpan> tree;
  chart.read(0, words, tree);
  return tree;
}

}  // namespace dynet_like::nn
