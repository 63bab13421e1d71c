// DyNet's init.h: the command line's --dynet-* options.
#pragma once

#include <string>
#include <vector>

namespace dynet {

/// The settings of a process. Memory options are accepted and change nothing.
struct DynetParams {
  unsigned random_seed = 0;            ///< 0: another one in every run
  std::string mem_descriptor = "512";  ///< --dynet-mem: memory grows as it must
  float weight_decay = 0;              ///< of collections that are not given another
  /// How nodes are batched: 0 one by one, 1 or 99 automatically, 2 by depth, 3 by agenda. The
  /// results are the same bits.
  int autobatch = 1;
  /// 1: `cleanup`, or the end of the process, writes to standard error what was computed in how
  /// many batches, and how long it took; 2: so does every graph.
  int profiling = 0;
  /// Parameters lie in memory that this process shares with those that it forks: see mp.h.
  bool shared_parameters = false;
  /// --dynet-gpus 1: that many GPUs; --dynet-gpu-ids 0,2: these, not 0 in `gpu_mask`.
  bool ngpus_requested = false, ids_requested = false, cpu_requested = false;
  int requested_gpus = -1;
  std::vector<int> gpu_mask;
  /// --dynet-devices CPU,GPU:0: these. The first of all that is not the CPU becomes the default.
  std::vector<std::string> devices;
  unsigned threads = 1;  ///< --dynet-threads, an option of this library
};

/// Takes the --dynet-* options out of a command line. Throws UsageError for a value that is none.
DynetParams extract_dynet_params(int& argc, char**& argv, bool shared_parameters = false);
/// Makes the settings those of the graphs and collections that are made from now on. Throws
/// DeviceError, before anything is changed, if a device is not there that was asked for.
void initialize(const DynetParams& params);
void initialize(int& argc, char**& argv, bool shared_parameters = false);
/// Forgets gradients that no trainer has used, and writes the profile.
void cleanup();
/// New random numbers for parameters, dropout and `rndeng`.
void reset_rng(unsigned seed);

}  // namespace dynet
