// The output of --dynet-profiling: the work of all graphs together.
#pragma once

#include <new>

#include "dynet_like/report/report.h"

namespace dynet::detail {

/// Adds the work of a graph that is about to be cleared. Prints it to standard error if
/// `profiling_flag` is above 1.
void add_to_profile(const dynet_like::Report& report);
/// The same for a graph or a minibatch. Destructors call it, too, so if memory runs out it adds
/// nothing.
template <class Explained>
void add_work_to_profile(const Explained& explained) {
  try {
    add_to_profile(explained.explain());
  } catch (const std::bad_alloc&) {
  }
}
/// Prints what has been added to standard error, if anything was, and resets it. The end of the
/// process does this, too.
void print_profile();

}  // namespace dynet::detail
