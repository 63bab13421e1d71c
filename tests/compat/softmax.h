// What the tests of all softmax builders check.
#pragma once

#include <dynet/cfsm-builder.h>
#include <dynet/grad-check.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace dynet {

/// Counts of samples against the probabilities.
inline void expect_samples(SoftmaxBuilder& builder, const Expression& rep,
                           const std::vector<double>& log_distribution, unsigned samples) {
  std::vector<unsigned> counts(log_distribution.size());
  for (unsigned i = 0; i < samples; ++i) ++counts.at(builder.sample(rep));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double p = std::exp(log_distribution[i]);
    EXPECT_NEAR(counts[i], samples * p, 5 * std::sqrt(samples * p * (1 - p)) + 1e-9) << i;
  }
}

/// Of the losses of all words but the first, on both ways to them.
inline void expect_gradients(SoftmaxBuilder& builder, ParameterCollection& model,
                             const Expression& rep, unsigned words) {
  for (unsigned w = 1; w < words; ++w) {
    Expression loss = builder.neg_log_softmax(rep, w), same = -pick(builder.full_logits(rep), w);
    EXPECT_TRUE(check_grad(model, loss));
    EXPECT_TRUE(check_grad(model, same));
  }
}

}  // namespace dynet
