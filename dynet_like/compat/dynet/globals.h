// DyNet's globals.h: what all graphs and collections of a process share. Only this layer has any.
#pragma once

#include <random>

#include "dynet/devices.h"
#include "dynet_like/core/random.h"
#include "dynet_like/exec/options.h"
#include "dynet_like/params/gradients.h"

namespace dynet {

extern std::mt19937* rndeng;
extern Device* default_device;
extern float default_weight_decay_lambda;

namespace detail {

/// The options of new graphs, and how often they were set: `initialize` does it.
const dynet_like::GraphOptions& graph_options();
void set_graph_options(const dynet_like::GraphOptions& options);
unsigned graph_options_version();
/// Where dropout and initial values get their numbers from.
dynet_like::Random& random();
/// The gradients of all parameters since the last update of their trainer.
dynet_like::Gradients& gradients();

}  // namespace detail
}  // namespace dynet
