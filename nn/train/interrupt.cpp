// Ctrl-C by sigaction: the handler is async-signal-safe. Signals belong to the whole process, so
// the state here is global.
#include "nn/train/interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace dynet_like::nn {

namespace {

std::atomic<bool> signal_came = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler must not wait");

// The number of watches, and the signal actions before the first of them.
struct Watches {
  std::mutex mutex;
  unsigned count = 0;
  struct sigaction interrupt = {}, termination = {};
};

Watches& watches() {
  static Watches all;
  return all;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  Watches& all = watches();
  const std::lock_guard lock(all.mutex);
  if (all.count++ > 0) return;
  signal_came = false;
  struct sigaction action = {};
  action.sa_handler = [](int) { signal_came = true; };
  sigemptyset(&action.sa_mask);
  // The second signal finds the default action, which ends the program.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &all.interrupt);
  sigaction(SIGTERM, &action, &all.termination);
}

InterruptWatch::~InterruptWatch() {
  Watches& all = watches();
  const std::lock_guard lock(all.mutex);
  if (--all.count > 0) return;
  sigaction(SIGINT, &all.interrupt, nullptr);
  sigaction(SIGTERM, &all.termination, nullptr);
}

bool InterruptWatch::interrupted() const { return signal_came; }

}  // namespace dynet_like::nn
