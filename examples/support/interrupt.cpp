// Ctrl-C by sigaction: the handler does no more than a handler may.
#include "examples/support/interrupt.h"

namespace dynet_like::examples {

namespace {

// A signal handler can reach nothing but a variable like this one.
volatile std::sig_atomic_t signal_came = 0;

void remember_signal(int) { signal_came = 1; }

}  // namespace

InterruptWatch::InterruptWatch() {
  signal_came = 0;
  struct sigaction action = {};
  action.sa_handler = remember_signal;
  sigemptyset(&action.sa_mask);
  // The second signal finds the default action, which ends the program.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &before_interrupt_);
  sigaction(SIGTERM, &action, &before_termination_);
}

InterruptWatch::~InterruptWatch() {
  sigaction(SIGINT, &before_interrupt_, nullptr);
  sigaction(SIGTERM, &before_termination_, nullptr);
}

bool InterruptWatch::interrupted() const { return signal_came != 0; }

}  // namespace dynet_like::examples
