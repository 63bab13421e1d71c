// Sums over all sequences of tags, and over all paths that spell labels: the base of CRFs and CTC
// (see nn/structured/).
#pragma once

#include <vector>

namespace dynet_like {

class Expression;

/// ln of the sum of e^score over all sequences y of n tags, where score = start[y_1] + the sum of
/// emissions[y_t, t] + the sum of transitions[y_t, y_(t + 1)] + end[y_n] (Rabiner 1989): the
/// partition function of a conditional random field. `tags`, if given, has a number per column: the
/// sum is then only over sequences with these tags; a negative number stands for any tag. A score
/// of -infinity forbids its tag or transition. If all sequences are forbidden, the result is
/// -infinity without gradient. Nodes with any number of columns batch. Shapes: emissions {tags, n},
/// transitions {tags, tags} from row to column, start and end {tags} -> {1}. Throws UsageError for
/// a tag that does not exist.
Expression chain_log_partition(const Expression& emissions, const Expression& transitions,
                               const Expression& start, const Expression& end,
                               const std::vector<int>& tags = {});
/// ln of the sum of e^(x[path_t, t] + ...) over all paths with one class per step that spell the
/// labels. Equal neighbours count as one, and the last class, the blank, counts as none
/// (connectionist temporal classification, Graves et al. 2006). The result is -infinity, without
/// gradient, if no path is possible. Nodes with any number of steps batch. Shapes: {labels + 1,
/// steps} -> {1}. Throws UsageError for a label that does not exist, and for fewer steps than the
/// labels need. See nn::ctc_loss.
Expression ctc_log_probability(const Expression& log_probabilities,
                               const std::vector<unsigned>& labels);

}  // namespace dynet_like
