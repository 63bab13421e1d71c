// DyNet's globals.h: what all graphs and collections of a process share. Only this layer has any.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dynet/devices.h"
#include "dynet/timing.h"
#include "dynet_like/core/random.h"
#include "dynet_like/exec/options.h"
#include "dynet_like/params/gradients.h"

namespace dynet {

/// On the heap: programs may seed it, draw from it, or delete it and put another in its place.
/// Initial values and dropout follow from it, too.
extern std::mt19937* rndeng;
/// Where collections and graphs that are made from now on live.
extern Device* default_device;
extern std::vector<Device*> devices;
extern float default_weight_decay_lambda;
/// How graphs that are made from now on batch: see DynetParams::autobatch.
extern int autobatch_flag;
/// See DynetParams::profiling; of graphs that are made from now on.
extern int profiling_flag;
extern NamedTimer timer;

namespace detail {

/// The options of new graphs, as the flags say by now, and how often they have changed. Throws
/// UsageError for a flag that has no meaning.
const dynet_like::GraphOptions& graph_options();
unsigned graph_options_version();
/// The device of collections and graphs that are made from now on: that of `default_device`.
std::shared_ptr<dynet_like::Device> device();
/// Whether new parameters lie in memory that this process shares with those that it forks.
extern bool shares_parameters;
/// Those that were made so; some may be gone.
std::vector<std::weak_ptr<dynet_like::ParameterStorage>>& shared_parameters();
/// Where dropout and initial values get their numbers from: another sequence whenever somebody has
/// drawn from `rndeng`, seeded or replaced it.
dynet_like::Random& random();
/// A seed of that sequence, for the random numbers of a graph. Several threads may call it.
std::uint64_t next_seed();
/// The gradients of all parameters since the last update of their trainer.
dynet_like::Gradients& gradients();

}  // namespace detail
}  // namespace dynet
