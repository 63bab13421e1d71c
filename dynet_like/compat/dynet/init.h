// DyNet's init.h: the --dynet-* options of the command line.
#pragma once

#include <string>
#include <vector>

namespace dynet {

/// The settings of a process. Options for memory are accepted and have no effect.
struct DynetParams {
  unsigned random_seed = 0;            ///< 0: a different seed in every run
  std::string mem_descriptor = "512";  ///< --dynet-mem; has no effect, since memory grows as needed
  float weight_decay = 0;              ///< default of collections
  /// How nodes are batched: 0 one by one, 1 or 99 automatically, 2 by depth, 3 by agenda. The bits
  /// of the results are the same.
  int autobatch = 1;
  /// 1: `cleanup`, or the end of the process, prints to standard error how many batches ran, of
  /// what, and how long they took; 2: every graph does so, too.
  int profiling = 0;
  /// Whether parameters are in memory that this process shares with the processes that it forks:
  /// see mp.h.
  bool shared_parameters = false;
  /// --dynet-gpus n: the first n GPUs; --dynet-gpu-ids 0,2: these, whose `gpu_mask` is not 0.
  bool ngpus_requested = false, ids_requested = false, cpu_requested = false;
  int requested_gpus = -1;
  std::vector<int> gpu_mask;
  /// --dynet-devices CPU,GPU:0: these. Of all requested devices, the first that is not the CPU
  /// becomes the default.
  std::vector<std::string> devices;
  unsigned threads = 1;  ///< --dynet-threads, an option of this library
};

/// Removes the --dynet-* options from a command line. Throws UsageError for an invalid value.
DynetParams extract_dynet_params(int& argc, char**& argv, bool shared_parameters = false);
/// Makes these the settings of graphs and collections that are made from now on. Throws
/// DeviceError, before anything is changed, if a requested device is not there.
void initialize(const DynetParams& params);
void initialize(int& argc, char**& argv, bool shared_parameters = false);
/// Drops gradients that no trainer has used, and prints the profile.
void cleanup();
/// Seeds the random numbers for parameters, dropout and `rndeng` anew.
void reset_rng(unsigned seed);

}  // namespace dynet
