// Parameters, gradients, trainers, and ranks that train together.
#include "dynet_like/distributed/gradient_exchange.h"
#include "dynet_like/distributed/parameter_server.h"
#include "dynet_like/distributed/shards.h"
#include "dynet_like/dynet_like.h"
#include "dynet_like/train/gradient_check.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

void use_parameter(const Parameter& p) {
  ComputationGraph graph;
  Gradients gradients;
  ATTEMPT(p.get_storage());
  ATTEMPT(p.get_fullname());
  ATTEMPT(p.dim());
  ATTEMPT(p.values());
  ATTEMPT(p.set_value({1, 2}));
  ATTEMPT(p.zero());
  ATTEMPT(p.scale(2));
  ATTEMPT(p.clip_inplace(-1, 1));
  ATTEMPT(p.set_updated(true));
  ATTEMPT(p.is_updated());
  ATTEMPT(parameter(graph, p));
  ATTEMPT(const_parameter(graph, p));
  ATTEMPT(gradients.values(p));
}

void use_table(const LookupParameter& table) {
  ComputationGraph graph;
  Gradients gradients;
  ATTEMPT(table.get_storage());
  ATTEMPT(table.get_fullname());
  ATTEMPT(table.dim());
  ATTEMPT(table.rows());
  ATTEMPT(table.values(0));
  ATTEMPT(table.all_values());
  ATTEMPT(table.initialize(0, {1, 2}));
  ATTEMPT(table.zero());
  ATTEMPT(table.scale(2));
  ATTEMPT(table.set_updated(true));
  ATTEMPT(table.is_updated());
  ATTEMPT(lookup(graph, table, 0));
  ATTEMPT(table[0]);
  ATTEMPT(const_lookup(graph, table, 0));
  ATTEMPT(parameter(graph, table));
  ATTEMPT(gradients.values(table, 0));
}

void use_storage(ParameterStorage& storage) {
  ATTEMPT(storage.size() + storage.rows() + storage.entry_size());
  ATTEMPT(storage.device());
  ATTEMPT(as_vector(storage.tensor()));
  ATTEMPT(storage.values_written());
  ATTEMPT(storage.refresh_rows());
}

void use_gradients(Gradients& gradients) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2});
  const LookupParameter table = model.add_lookup_parameters(2, {2});
  ATTEMPT(gradients.names());
  ATTEMPT(gradients.is_used());
  ATTEMPT(gradients.has_any_of(model));
  ATTEMPT(gradients.norm(model));
  ATTEMPT(gradients.norm(std::span<const std::shared_ptr<ParameterStorage>>()));
  ATTEMPT(gradients.scale(2));
  ATTEMPT(gradients.add(Gradients()));
  ATTEMPT(gradients.find_dense(*w.p));
  ATTEMPT(gradients.find_rows(*table.p));
  ATTEMPT(gradients.stretches(*w.p));
  ATTEMPT(gradients.all_values(*table.p));
  ATTEMPT(gradients.values(w));
  ATTEMPT(gradients.values(table, 0));
  ATTEMPT(gradients.clear(*w.p));
  ATTEMPT(gradients.clear(model));
  ATTEMPT(gradients.clear());
  EXPECT_TRUE(gradients.empty() || gradients.names().empty());
}

void use_collection(ParameterCollection& model) {
  const auto count = model.size();
  model.get_fullname();
  ATTEMPT(model.find("/W"));
  EXPECT_EQ(model.parameter_count() > 0, count > 0);
  model.copy();
  model.add_subcollection("layer").add_parameters({1});
}

void use_initialisers(Types& types) {
  const auto fill = [](const ParameterInit& init) {
    ParameterCollection model;
    ATTEMPT(model.add_parameters({2, 2}, init));
    ATTEMPT(model.add_lookup_parameters(2, {2}, init));
  };
  types.use("ParameterInitConst", ParameterInitConst(1), fill);
  types.use("ParameterInitFromVector", ParameterInitFromVector({1, 2, 3, 4}), fill);
  types.use("ParameterInitGlorot", ParameterInitGlorot(), fill);
  types.use("ParameterInitIdentity", ParameterInitIdentity(), fill);
  types.use("ParameterInitNormal", ParameterInitNormal(), fill);
  types.use("ParameterInitSaxe", ParameterInitSaxe(), fill);
  types.use("ParameterInitUniform", ParameterInitUniform(1), fill);
  types.use("ParameterInitFromFile", ParameterInitFromFile("/nowhere"),
            [](const ParameterInit& init) {
              EXPECT_THROW(ParameterCollection().add_parameters({2}, init), FileError);
            });
}

void use_trainers(Types& types) {
  types.use("TrainerState", TrainerState(), [](const TrainerState& state) {
    ParameterCollection model;
    SimpleSGDTrainer trainer(model);
    ATTEMPT(trainer.load_state(state));
  });
  types.use("CyclicalRate", CyclicalRate(), [](const CyclicalRate& rate) {
    rate.check();
    rate.after(1);
    rate.description();
  });
  types.use("ParameterGroup", ParameterGroup(), [](const ParameterGroup& group) {
    ParameterCollection model;
    SimpleSGDTrainer trainer(model);
    group.check();
    ATTEMPT(trainer.set_groups({group}));
  });
  ParameterCollection model;
  model.add_parameters({2}, "W");
  types.use("ParameterGroups", ParameterGroups({{"*", 2.0f}}, model.storages()),
            [&](ParameterGroups& groups) {
              ATTEMPT(groups.description());
              ATTEMPT(groups.all());
              ATTEMPT(groups.settings_of(*model.storages()[0]));
              ATTEMPT(groups.updated(model.storages()));
            });
  types.use("MovingAverageSettings", MovingAverageSettings(),
            [](const MovingAverageSettings& settings) {
              settings.check();
              settings.description();
            });
  types.use("ParameterAverages", ParameterAverages(), [&](ParameterAverages& averages) {
    EXPECT_TRUE(averages.all().empty());
    EXPECT_FALSE(averages.swapped() || averages.is_due(1));
    ATTEMPT(averages.start({}, 1));
    ATTEMPT(averages.swap_in(true, true));
    ATTEMPT(averages.swap_out());
    ATTEMPT(averages.take());
    ATTEMPT(averages.count());
    ATTEMPT(averages.replace({}));
    ATTEMPT(averages.prepare({}));
  });
  types.use("GradientDifference", GradientDifference(),
            [](const GradientDifference& difference) { EXPECT_EQ(difference.error(), 0); });
}

void use_ranks(Types& types) {
  types.use("RankError", RankError("a"),
            [](const RankError& error) { EXPECT_NE(error.what(), nullptr); });
  types.use("RankPart", RankPart{1, 2}, [](const RankPart& part) {
    part.size();
    EXPECT_EQ(common_part(part, {}).size(), 0u);
  });
  types.use("Relaxation", Relaxation(), [](const Relaxation& relaxation) { relaxation.check(1); });
}

}  // namespace

void use_parameters(Types& types) {
  types.stay<ParameterInit, Trainer, SimpleSGDTrainer, MomentumSGDTrainer, AdagradTrainer,
             AdadeltaTrainer, RMSPropTrainer, AdamTrainer, AdamWTrainer, AmsgradTrainer,
             Communicator, ParameterServer, GradientExchange>();
  ParameterCollection model;
  const Parameter w = model.add_parameters({2}, "W");
  types.use("Parameter", w, use_parameter);
  types.use("LookupParameter", model.add_lookup_parameters(3, {2}), use_table);
  types.use("ParameterCollection", model, use_collection);
  use_initialisers(types);

  ComputationGraph graph;
  Gradients gradients;
  graph.backward(squared_norm(parameter(graph, w)), gradients);
  types.use("Gradients", std::move(gradients), use_gradients);
  types.use_where_it_is<ParameterStorage>("ParameterStorage", use_storage);
  use_trainers(types);
  use_ranks(types);
}

}  // namespace dynet_like
