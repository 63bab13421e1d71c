// Parameters that are frozen, thawed and changed from run to run, and from sample to sample.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/support/modes.h"

namespace dynet_like::testing {

class Freezer {
 public:
  explicit Freezer(const ParameterCollection& collection) : all_(collection.storages()) {}
  ~Freezer() {
    for (const auto& parameter : all_) parameter->frozen = false;
  }
  Freezer(const Freezer&) = delete;
  Freezer& operator=(const Freezer&) = delete;

  /// Chooses which parameters are frozen in each sample of a run, and changes a number.
  void choose(Random& random, unsigned samples) {
    const bool may_change = random.below(3) == 0;
    frozen_.clear();
    for (unsigned i = 0; i < samples; ++i) {
      std::vector<bool> frozen;
      for (std::size_t p = 0; p < all_.size(); ++p) frozen.push_back(random.below(3) == 0);
      frozen_.push_back(i > 0 && !may_change ? frozen_[0] : frozen);
    }
    for (const auto& parameter : all_) parameter->updated = random.below(4) > 0;
    Tensor values = all_[random.below(static_cast<unsigned>(all_.size()))]->tensor();
    const unsigned at = random.below(values.d.size());
    values.set(at, values.at(at) + 0.125 * random.below(5) - 0.25);
    for (const auto& parameter : all_) parameter->values_written();
  }
  /// The program from its sample `first` on, before each of whose samples parameters are frozen.
  Program around(Program program, unsigned first = 0) const {
    program.first = first;
    program.samples = static_cast<unsigned>(frozen_.size());
    program.record = [this, first, record = program.record](ComputationGraph& graph, unsigned i) {
      for (std::size_t p = 0; p < all_.size(); ++p) all_[p]->frozen = frozen_[i - first][p];
      return record(graph, i);
    };
    return program;
  }
  /// What is frozen in all samples has no gradient.
  void expect_no_gradient_of_frozen(const Outcome& outcome) const {
    std::size_t at = 0;
    for (std::size_t p = 0; p < all_.size() && !outcome.parameters.empty(); ++p) {
      const bool always = std::ranges::all_of(frozen_, [&](const auto& of) { return of[p]; });
      for (const std::size_t end = at + all_[p]->size(); at < end; ++at) {
        ASSERT_TRUE(!always || outcome.parameters[at] == 0) << all_[p]->name;
      }
    }
  }

 private:
  std::vector<std::shared_ptr<ParameterStorage>> all_;
  std::vector<std::vector<bool>> frozen_;  ///< by sample
};

}  // namespace dynet_like::testing
