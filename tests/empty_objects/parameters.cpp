// Parameters, gradients, trainers, and ranks that train together.
#include "dynet_like/distributed/gradient_exchange.h"
#include "dynet_like/distributed/parameter_server.h"
#include "dynet_like/distributed/shards.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

void use_parameter(const Parameter& p) {
  ComputationGraph graph;
  Gradients gradients;
  ATTEMPT(p.get_storage(), p.get_fullname(), p.dim(), p.values(), p.set_value({1, 2}), p.zero(),
          p.scale(2), p.clip_inplace(-1, 1), p.set_updated(true), p.is_updated(),
          parameter(graph, p), const_parameter(graph, p), gradients.values(p));
}

void use_table(const LookupParameter& table) {
  ComputationGraph graph;
  Gradients gradients;
  ATTEMPT(table.get_storage(), table.get_fullname(), table.dim(), table.rows(), table.values(0),
          table.all_values(), table.initialize(0, {1, 2}), table.zero(), table.scale(2),
          table.set_updated(true), table.is_updated(), lookup(graph, table, 0), table[0],
          const_lookup(graph, table, 0), parameter(graph, table), gradients.values(table, 0));
}

void use_storage(ParameterStorage& storage) {
  ATTEMPT(storage.size() + storage.rows() + storage.entry_size(), storage.device(),
          as_vector(storage.tensor()), storage.values_written(), storage.refresh_rows());
}

void use_gradients(Gradients& gradients) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2});
  const LookupParameter table = model.add_lookup_parameters(2, {2});
  ATTEMPT(
      gradients.names(), gradients.is_used(), gradients.has_any_of(model), gradients.norm(model),
      gradients.norm(std::span<const std::shared_ptr<ParameterStorage>>()), gradients.scale(2),
      gradients.add(Gradients()), gradients.find_dense(*w.p), gradients.find_rows(*table.p),
      gradients.stretches(*w.p), gradients.all_values(*table.p), gradients.values(w),
      gradients.values(table, 0), gradients.clear(*w.p), gradients.clear(model), gradients.clear());
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
    ATTEMPT(model.add_parameters({2, 2}, init), model.add_lookup_parameters(2, {2}, init));
  };
  types.use(ParameterInitConst(1), fill);
  types.use(ParameterInitFromVector({1, 2, 3, 4}), fill);
  types.use(ParameterInitGlorot(), fill);
  types.use(ParameterInitIdentity(), fill);
  types.use(ParameterInitNormal(), fill);
  types.use(ParameterInitSaxe(), fill);
  types.use(ParameterInitUniform(1), fill);
  types.use(ParameterInitFromFile("/nowhere"), [](const ParameterInit& init) {
    EXPECT_THROW(ParameterCollection().add_parameters({2}, init), FileError);
  });
}

void use_trainers(Types& types) {
  ParameterCollection model;
  SimpleSGDTrainer trainer(model);
  types.use(TrainerState(), [&](const TrainerState& state) { ATTEMPT(trainer.load_state(state)); });
  types.use(ParameterGroup(), [&](const ParameterGroup& group) {
    group.check();
    ATTEMPT(trainer.set_groups({group}));
  });
  model.add_parameters({2}, "W");
  types.use(ParameterGroups({{"*", 2.0f}}, model.storages()), [&](ParameterGroups& groups) {
    ATTEMPT(groups.description(), groups.all(), groups.settings_of(*model.storages()[0]),
            groups.updated(model.storages()));
  });
  types.use(ParameterAverages(), [&](ParameterAverages& averages) {
    EXPECT_TRUE(averages.all().empty());
    EXPECT_FALSE(averages.swapped() || averages.is_due(1));
    ATTEMPT(averages.start({}, 1), averages.swap_in(true, true), averages.swap_out(),
            averages.take(), averages.count(), averages.replace({}), averages.prepare({}));
  });
}

}  // namespace

void use_parameters(Types& types) {
  types.stay<ParameterInit, Trainer, SimpleSGDTrainer, MomentumSGDTrainer, AdagradTrainer,
             AdadeltaTrainer, RMSPropTrainer, AdamTrainer, AdamWTrainer, AmsgradTrainer,
             Communicator, ParameterServer, GradientExchange>();
  ParameterCollection model;
  const Parameter w = model.add_parameters({2}, "W");
  types.use(w, use_parameter);
  types.use(model.add_lookup_parameters(3, {2}), use_table);
  types.use(model, use_collection);
  use_initialisers(types);

  ComputationGraph graph;
  Gradients gradients;
  graph.backward(squared_norm(parameter(graph, w)), gradients);
  types.use(std::move(gradients), use_gradients);
  types.use_where_it_is<ParameterStorage>(use_storage);
  use_trainers(types);
}

}  // namespace dynet_like
