// The messages of these checks.
#include "dynet_like/core/one_thread.h"

#include "dynet_like/core/errors.h"

namespace dynet_like::detail {

constinit thread_local char this_thread_mark = 0;

void OneThread::throw_busy() const {
  check_open();
  throw UsageError(
      "[ComputationGraph] need one thread at a time in a graph, or in all graphs of a minibatch; "
      "got a second one while another records or runs: give each thread graphs of its own, or set "
      "GraphOptions::threads and use add_losses");
}

void OneThread::throw_closed() {
  throw UsageError(
      "[ComputationGraph] need a function of a cell or a recursion that uses its arguments alone; "
      "got one that uses the graph, or the minibatch, for which it is called: what it reads must "
      "be one of its arguments");
}

void Running::throw_running() {
  throw UsageError(
      "[ComputationGraph] need a graph, or a minibatch, that is not being run; got one that is: "
      "call it when the run has ended");
}

}  // namespace dynet_like::detail
