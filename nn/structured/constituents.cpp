// Constituents: sorted so that each comes before its parts, a stack finds which contain which.
#include "nn/structured/constituents.h"

#include <algorithm>
#include <limits>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/ops/ops.h"
#include "nn/structured/span_crf.h"
#include "nn/structured/span_scores.h"

namespace dynet_like::nn {

namespace {

using Spans = std::vector<LabelledSpan>;

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

/// The same spans, each before its parts, the left part first. Throws UsageError unless they nest.
Spans nested(const char* user, std::span<const LabelledSpan> spans, unsigned words) {
  Spans sorted(spans.begin(), spans.end());
  std::ranges::sort(sorted, comes_before);
  const auto fail = [&](const std::string& what) {
    throw UsageError('[' + std::string(user) + "] need " + what);
  };
  Spans open;
  for (const LabelledSpan& span : sorted) {
    if (span.start >= span.end || span.end > words) {
      fail("spans of words, from 0 to " + std::to_string(words) + "; got " + to_string(span));
    }
    while (!open.empty() && open.back().end <= span.start) open.pop_back();
    if (!open.empty() && open.back().end < span.end) {
      fail("constituents that do not cross; got " + to_string(open.back()) + " and " +
           to_string(span));
    }
    if (!open.empty() && open.back().start == span.start && open.back().end == span.end) {
      fail("one label for each span; got several for " + to_string(span));
    }
    open.push_back(span);
  }
  return sorted;
}

/// Makes a binary tree of sorted constituents.
class Binariser {
 public:
  Binariser(const Spans& sorted, unsigned none) : sorted_(sorted), none_(none) {}

  Spans tree(unsigned words) {
    const bool has_root = !sorted_.empty() && sorted_[0].start == 0 && sorted_[0].end == words;
    // What is still to be split: a span, and the constituents inside it.
    std::vector<Part> todo = {
        {{0, words, has_root ? sorted_[0].label : none_}, has_root ? 1u : 0u, sorted_.size()}};
    Spans tree;
    while (!todo.empty()) {
      const Part part = todo.back();
      todo.pop_back();
      tree.push_back(part.span);
      if (part.span.end - part.span.start == 1) continue;
      const std::size_t last = last_part(part);
      const bool is_constituent = last < part.end && sorted_[last].end == part.span.end;
      const Part right = is_constituent
                             ? Part{sorted_[last], last + 1, part.end}
                             : Part{{part.span.end - 1, part.span.end, none_}, part.end, part.end};
      const std::size_t rest = is_constituent ? last : part.end;
      todo.push_back(right);
      todo.push_back(left_of(part, right.span.start, rest));
    }
    return tree;
  }

 private:
  struct Part {
    LabelledSpan span;
    std::size_t first, end;  ///< of the constituents inside it
  };

  /// The last of the outermost constituents inside a span, or `end`.
  std::size_t last_part(const Part& part) const {
    std::size_t last = part.end;
    for (std::size_t i = part.first; i < part.end;) {
      last = i;
      const unsigned end = sorted_[i].end;
      while (i < part.end && sorted_[i].start < end) ++i;
    }
    return last;
  }

  /// What is left of a span before a part: a constituent, or else none.
  Part left_of(const Part& part, unsigned end, std::size_t rest) const {
    const bool is_constituent = part.first < rest && sorted_[part.first].start == part.span.start &&
                                sorted_[part.first].end == end;
    if (is_constituent) return {sorted_[part.first], part.first + 1, rest};
    return {{part.span.start, end, none_}, part.first, rest};
  }

  const Spans& sorted_;
  unsigned none_;
};

/// For every label of every span of one width: 0 if it may be in the tree, else -infinity. The
/// constituents are sorted.
std::vector<float> allowed(const Spans& constituents, unsigned words, unsigned width,
                           unsigned labels, unsigned none) {
  std::vector<float> mask;
  for (unsigned start = 0; start + width <= words; ++start) {
    const unsigned end = start + width;
    unsigned label = none;
    bool crosses = false;
    for (const LabelledSpan& each : constituents) {
      if (each.start == start && each.end == end) label = each.label;
      const bool is_apart = each.end <= start || end <= each.start;
      const bool is_inside = start <= each.start && each.end <= end;
      const bool is_around = each.start <= start && end <= each.end;
      crosses |= !is_apart && !is_inside && !is_around;
    }
    for (unsigned i = 0; i < labels; ++i) {
      const bool fits = label == kAnyLabel ? i != none : i == label;
      mask.push_back(fits && !crosses ? 0 : kForbidden);
    }
  }
  return mask;
}

}  // namespace

std::vector<LabelledSpan> constituents(const Tree& tree) {
  Spans spans;
  unsigned words = 0;  // so far
  for (const Tree::Node& node : tree.nodes()) {
    if (node.child_count == 0) {
      ++words;
      continue;
    }
    if (node.label < 0) throw UsageError("[constituents] need a label at every phrase; got none");
    spans.push_back({tree.nodes()[node.first_node].word, words, static_cast<unsigned>(node.label)});
  }
  return nested("constituents", spans, words);
}

std::vector<LabelledSpan> constituents(std::span<const LabelledSpan> spans, unsigned none) {
  Spans found;
  for (const LabelledSpan& span : spans) {
    if (span.label != none) found.push_back(span);
  }
  return found;
}

std::vector<LabelledSpan> binarised(std::span<const LabelledSpan> constituents, unsigned words,
                                    unsigned none) {
  if (words == 0) throw UsageError("[binarised] need at least 1 word; got 0");
  return Binariser(nested("binarised", constituents, words), none).tree(words);
}

Tree to_tree(std::span<const LabelledSpan> spans, std::span<const std::string> words,
             std::span<const std::uint32_t> tags, unsigned none) {
  if (words.empty() || words.size() != tags.size()) {
    throw UsageError("[to_tree] need at least 1 word, and a tag for each; got " +
                     detail::counted(words.size(), "word") + " and " +
                     detail::counted(tags.size(), "tag"));
  }
  const auto count = static_cast<unsigned>(words.size());
  const Spans phrases = nested("to_tree", constituents(spans, none), count);
  Tree tree;
  Spans open;
  std::vector<std::uint32_t> parts = {0};  // so far, of the sentence and of every open phrase
  std::size_t next = 0;
  for (unsigned word = 0; word < count; ++word) {
    for (; next < phrases.size() && phrases[next].start == word; ++next) {
      open.push_back(phrases[next]);
      parts.push_back(0);
    }
    tree.add_leaf(static_cast<std::int32_t>(tags[word]), words[word]);
    ++parts.back();
    for (; !open.empty() && open.back().end == word + 1; open.pop_back()) {
      tree.add_parent(static_cast<std::int32_t>(open.back().label), parts.back());
      parts.pop_back();
      ++parts.back();
    }
  }
  if (parts.back() > 1) tree.add_parent(Tree::kNoLabel, parts.back());
  return tree;
}

Expression constituents_loss(std::span<const Expression> scores,
                             std::span<const LabelledSpan> constituents, unsigned none) {
  const unsigned words = check_span_scores("constituents_loss", scores);
  const unsigned labels = scores[0].dim().rows();
  const Spans sorted = nested("constituents_loss", constituents, words);
  const auto check = [&](unsigned label, const std::string& where) {
    if (label < labels) return;
    throw UsageError("[constituents_loss] need labels below " + std::to_string(labels) + "; got " +
                     detail::index_text(label) + where);
  };
  check(none, " for none");
  for (const LabelledSpan& span : sorted) {
    if (span.label != kAnyLabel) check(span.label, " for the span " + to_string(span));
  }
  std::vector<Expression> possible;
  for (unsigned width = 1; width <= words; ++width) {
    const Expression& all = scores[width - 1];
    const Expression mask = input(all.graph("constituents_loss"), Dim({labels}, all.dim().bd),
                                  allowed(sorted, words, width, labels, none));
    possible.push_back(all + mask);
  }
  return span_log_partition(scores) - span_log_partition(possible);
}

}  // namespace dynet_like::nn
