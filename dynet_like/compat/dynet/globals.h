// DyNet's globals.h: state that all graphs and collections of a process share.
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

/// On the heap: programs may seed it, draw from it, or delete it and replace it. Initial values and
/// dropout depend on it, too.
extern std::mt19937* rndeng;
/// The device of collections and graphs that are made from now on.
extern Device* default_device;
extern std::vector<Device*> devices;
extern float default_weight_decay_lambda;
/// How graphs that are made from now on batch: see DynetParams::autobatch.
extern int autobatch_flag;
/// See DynetParams::profiling; for graphs that are made from now on.
extern int profiling_flag;
extern NamedTimer timer;

namespace detail {

/// The options of new graphs, which follow the flags, and how often they have changed. Throws
/// UsageError for an invalid flag.
const dynet_like::GraphOptions& graph_options();
unsigned graph_options_version();
/// The device of collections and graphs that are made from now on: that of `default_device`.
std::shared_ptr<dynet_like::Device> device();
/// Whether new parameters are in memory that this process shares with the processes that it forks.
extern bool shares_parameters;
/// The parameters that are in shared memory; some may have been destroyed.
std::vector<std::weak_ptr<dynet_like::ParameterStorage>>& shared_parameters();
/// The source of random numbers for dropout and initial values. It changes whenever a program has
/// drawn from `rndeng`, seeded it or replaced it.
dynet_like::Random& random();
/// A seed of that sequence, for the random numbers of a graph. Several threads may call it.
std::uint64_t next_seed();
/// The gradients of all parameters, each since the last update of its trainer.
dynet_like::Gradients& gradients();

}  // namespace detail
}  // namespace dynet
