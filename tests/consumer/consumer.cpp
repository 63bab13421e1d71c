// A user's program: learns a sum with a graph per sample, through the installed headers alone.
#include <cstdio>

#include "dynet_like/dynet_like.h"
#include "nn/data.h"
#include "nn/train.h"

using namespace dynet_like;

int main() {
  ParameterCollection model;
  const Parameter weights = model.add_parameters({1, 2});
  SimpleSGDTrainer trainer(model, 0.02f);
  const nn::Schedule schedule = nn::WarmUp{5, 0.02f};
  Minibatch batch;
  float loss = 0;
  for (unsigned step = 0; step < 200; ++step) {
    batch.clear();
    trainer.learning_rate = schedule.rate(step);
    for (float x : {1.0f, 2.0f, 3.0f}) {
      ComputationGraph& graph = batch.new_graph();
      const Expression y = parameter(graph, weights) * input(graph, Dim({2}), {x, 1 - x});
      batch.add_loss(squared_distance(y, input(graph, 3 * x - 1)));  // weights become 2 and -1
    }
    loss = batch.forward();
    trainer.update(batch.backward());
  }
  std::printf("loss %g\n", loss);
  return loss < 0.01f ? 0 : 1;
}
