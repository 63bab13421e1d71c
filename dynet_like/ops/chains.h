// Sums over all sequences of tags, and over all paths that spell labels. CRFs and CTC are made of
// them: see nn/structured/.
#pragma once

#include <vector>

namespace dynet_like {

class Expression;

/// ln of the sum of e^score over all sequences y of n tags, where score = start[y_1] + the sum of
/// emissions[y_t, t] + the sum of transitions[y_t, y_(t + 1)] + end[y_n] (Rabiner 1989): the
/// partition function of a conditional random field. With `tags`, a number per column, only over
/// sequences that have them; a negative one stands for any tag. Scores of -infinity forbid
/// something; where all is forbidden it is -infinity, without gradient. Any number of columns
/// batches. Shapes: emissions {tags, n}, transitions {tags, tags} from row to column, start and end
/// {tags} -> {1}. Throws UsageError for a tag that is not there.
Expression chain_log_partition(const Expression& emissions, const Expression& transitions,
                               const Expression& start, const Expression& end,
                               const std::vector<int>& tags = {});
/// ln of the sum of e^(x[path_t, t] + ...) over all paths with a class per step that spell the
/// labels, where equal neighbours count as one and the last class, the blank, counts as none
/// (connectionist temporal classification, Graves et al. 2006). Any number of steps batches.
/// Shapes: {labels + 1, steps} -> {1}. Throws UsageError for a label that is not there, and for
/// fewer steps than the labels need. -infinity, without gradient, where no path is possible. See
/// nn::ctc_loss.
Expression ctc_log_probability(const Expression& log_probabilities,
                               const std::vector<unsigned>& labels);

}  // namespace dynet_like
