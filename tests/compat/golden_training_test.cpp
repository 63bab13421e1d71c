// Trainers compute what DyNet computes.
#include <dynet/training.h>

#include <map>
#include <memory>

#include "tests/compat/golden.h"

namespace dynet::golden {
namespace {

using TrainerPointer = std::unique_ptr<Trainer>;
using Make = TrainerPointer (*)(ParameterCollection&);

Make maker_of(const std::string& name) {
  static const std::map<std::string, Make> makers = {
      {"sgd",
       [](ParameterCollection& m) -> TrainerPointer {
         return std::make_unique<SimpleSGDTrainer>(m, 0.1f);
       }},
      {"momentum",
       [](ParameterCollection& m) -> TrainerPointer {
         return std::make_unique<MomentumSGDTrainer>(m, 0.01f, 0.9f);
       }},
      {"adagrad",
       [](ParameterCollection& m) -> TrainerPointer {
         return std::make_unique<AdagradTrainer>(m, 0.1f, 1e-20f);
       }},
      {"adadelta",
       [](ParameterCollection& m) -> TrainerPointer {
         return std::make_unique<AdadeltaTrainer>(m, 1e-6f, 0.95f);
       }},
      {"rmsprop",
       [](ParameterCollection& m) -> TrainerPointer {
         return std::make_unique<RMSPropTrainer>(m, 0.1f, 1e-20f, 0.95f);
       }},
      {"adam",
       [](ParameterCollection& m) -> TrainerPointer {
         return std::make_unique<AdamTrainer>(m, 0.001f, 0.9f, 0.999f, 1e-8f);
       }},
      {"amsgrad",
       [](ParameterCollection& m) -> TrainerPointer {
         return std::make_unique<AmsgradTrainer>(m, 0.001f, 0.9f, 0.999f, 1e-8f);
       }},
      {"eg",
       [](ParameterCollection& m) -> TrainerPointer {
         return std::make_unique<EGTrainer>(m, 0.1f, 0.9f, 0.0f);
       }},
      {"cyclical",
       [](ParameterCollection& m) -> TrainerPointer {
         return std::make_unique<CyclicalSGDTrainer>(m, 0.01f, 0.1f, 2, 0.99f);
       }},
  };
  return makers.at(name);
}

enum Variant { kPlain, kClipped, kDense, kDecaying, kRestarted, kVariants };

/// A parameter and a table, which learn from one of two rows at a time.
class Problem {
 public:
  void learn(unsigned update, Trainer& trainer) {
    ComputationGraph graph;
    const Expression loss =
        squared_distance(parameter(graph, w_), input(graph, {3}, {0.2f, 0.7f, 0.1f})) +
        dot_product(lookup(graph, e_, update % 2 == 0 ? 0u : 2u),
                    input(graph, {2}, {0.4f, 0.5f + static_cast<float>(update)}));
    graph.forward(loss);
    graph.backward(loss);
    trainer.update();
  }
  std::vector<float> as_seen() const {
    ComputationGraph graph;
    return numbers({parameter(graph, w_), lookup(graph, e_, 0u), lookup(graph, e_, 1u),
                    lookup(graph, e_, 2u)});
  }

  ParameterCollection model;

 private:
  Parameter w_ = model.add_parameters({3}, ParameterInitFromVector({0.5f, 0.1f, 0.4f}));
  LookupParameter e_ = model.add_lookup_parameters(
      3, {2}, ParameterInitFromVector({0.3f, 0.2f, 0.6f, 0.1f, 0.2f, 0.9f}));
};

void add_variant(Rows& rows, const std::string& name, unsigned variant) {
  Problem problem;
  const TrainerPointer trainer = maker_of(name)(problem.model);
  trainer->clipping_enabled = variant == kClipped;
  trainer->clip_threshold = 0.5f;
  trainer->sparse_updates_enabled = variant != kDense;
  if (variant == kDecaying) problem.model.set_weight_decay_lambda(0.1f);
  for (unsigned update = 0; update < 5; ++update) {
    problem.learn(update, *trainer);
    if (variant == kRestarted && update == 1) trainer->restart();
    rows.emplace_back(
        name + " variant" + std::to_string(variant) + " update" + std::to_string(update),
        problem.as_seen());
  }
}

struct GoldenTrainingTest : GoldenTest {};

TEST_P(GoldenTrainingTest, ComputesWhatDyNetComputes) {
  Rows rows;
  for (unsigned variant = 0; variant < kVariants; ++variant) {
    add_variant(rows, GetParam(), variant);
  }
  expect_agreement(rows, rows_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTrainingTest, testing::ValuesIn(kTrainers),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace dynet::golden
