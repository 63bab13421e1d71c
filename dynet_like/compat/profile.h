// What --dynet-profiling tells: the work of all graphs together.
#pragma once

#include <new>

#include "dynet_like/report/report.h"

namespace dynet::detail {

/// Adds the work of a graph that is about to forget it; writes it to standard error if
/// `profiling_flag` is above 1.
void add_to_profile(const dynet_like::Report& report);
/// The same for a graph or a minibatch, also in its destructor: none is added if memory runs out.
template <class Explained>
void add_work_to_profile(const Explained& explained) {
  try {
    add_to_profile(explained.explain());
  } catch (const std::bad_alloc&) {
  }
}
/// Writes what has been added to standard error, if anything was, and forgets it. The end of the
/// process does it, too.
void print_profile();

}  // namespace dynet::detail
