// The models: all forms compute the same, every parameter is used, and names of rows are unique.
#include "bench/models/models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "bench/models/op_cells.h"
#include "bench/support/measure.h"

namespace dynet_like::bench {
namespace {

struct Outcome {
  double loss = 0, gradient_norm = 0;
};

/// The losses and gradients of the first instances, with biases that are not zero.
Outcome outcome(const Workload& workload, const ParameterCollection& parameters) {
  Minibatch batch;
  for (unsigned i = 0; i < 4; ++i) batch.add_loss(workload.loss(batch.new_graph(), i));
  Outcome result;
  result.loss = static_cast<double>(batch.forward());
  const Gradients& gradients = batch.backward();
  result.gradient_norm = gradients.norm(parameters);
  for (const auto& storage : parameters.storages()) {
    if (storage->is_table) {
      EXPECT_NE(gradients.find_rows(*storage), nullptr) << storage->name;
    } else {
      EXPECT_NE(gradients.find_dense(*storage), nullptr) << storage->name;
    }
  }
  return result;
}

/// Sets new biases for every gate, so that a wrong order of gates is noticed.
void change_biases(const ParameterCollection& model) {
  Random random(5);
  for (const auto& storage : model.storages()) {
    if (storage->is_table || storage->dim.nd != 1) continue;
    const Tensor values = storage->tensor();
    for (unsigned i = 0; i < storage->size(); ++i) values.set(i, 0.5 * random.normal());
  }
}

TEST(ModelsTest, AllFormsComputeTheSame) {
  for (const ModelKind& model : all_models()) {
    const unsigned hidden = 12;
    const auto fused = model.make(hidden, Form::fused);
    change_biases(fused->parameters());
    const Outcome expected = outcome(*fused, fused->parameters());
    EXPECT_GT(expected.loss, 0) << model.name;
    for (const Form form : {Form::ops, Form::steps}) {
      if (form == Form::steps && !model.has_steps) continue;
      const auto other = model.make(hidden, form);
      take_values(other->parameters(), fused->parameters());
      const Outcome got = outcome(*other, other->parameters());
      EXPECT_NEAR(got.loss / expected.loss, 1, 1e-5) << model.name;
      EXPECT_NEAR(got.gradient_norm / expected.gradient_norm, 1, 1e-4) << model.name;
      EXPECT_EQ(fused->parameters().parameter_count(), other->parameters().parameter_count());
    }
  }
}

TEST(ModelsTest, FormsBeginWithTheSameValues) {
  const auto fused = make_model("tagger", 8, Form::fused), ops = make_model("tagger", 8, Form::ops);
  const auto whole = fused->parameters().find("/forward/W");
  const auto part = ops->parameters().find("/forward/W_i");
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part->dim, Dim({8, kEmbedding}));
  // Row 3 of the second gate, column 5.
  EXPECT_EQ(part->tensor().at(5 * 8 + 3), whole->tensor().at(5 * 32 + 8 + 3));
  EXPECT_THROW(make_model("nothing", 8, Form::ops), std::invalid_argument);
  for (const auto& other :
       {make_model("tagger", 9, Form::ops), make_model("tree_lstm", 8, Form::ops)}) {
    EXPECT_THROW(take_values(other->parameters(), fused->parameters()), std::logic_error);
  }
}

TEST(RowsTest, NamesDiffer) {
  std::set<std::string> names;
  for (const Row& row : all_rows()) EXPECT_TRUE(names.insert(row.name()).second) << row.name();
  EXPECT_TRUE(names.contains("tree_lstm/h128/b64/train/fused/auto/t1"));
  EXPECT_TRUE(names.contains("random_dag/h128/b256/infer/single/none/t2"));
  EXPECT_TRUE(names.contains("tagger/h50/b64/infer/ops/depth/t1"));
}

TEST(RowsTest, MedianOfRuns) {
  const auto run = [](double speed) {
    Result result;
    result.instances_per_s = speed;
    return result;
  };
  EXPECT_EQ(median({run(3), run(1), run(2)}).instances_per_s, 2);
  EXPECT_EQ(median({run(4), run(1), run(3), run(2)}).instances_per_s, 2);
  EXPECT_EQ(median({run(4)}).instances_per_s, 4);
}

TEST(RowsTest, MeasuringARow) {
  Row row;
  row.model = "tree_gru";
  row.hidden = 8;
  row.batch = 64;
  row.train = true;
  row.form = "fused";
  const Result result = measure(row, 0.1);
  EXPECT_GT(result.instances_per_s, 0);
  EXPECT_GT(result.gflops, 0);
  EXPECT_GT(result.cpu_share, 0);
  EXPECT_LT(result.cpu_share, 1.2);  // one thread
  EXPECT_GE(result.nodes, 64 * 5);
  EXPECT_GT(result.loss, 0);
  EXPECT_LT(result.loss, 35 * std::log(5) * 1.2) << "training diverges";
  EXPECT_GE(result.batches, result.bound);
  EXPECT_GT(result.outside_share, 0);
  EXPECT_LT(result.outside_share, 1);
}

}  // namespace
}  // namespace dynet_like::bench
