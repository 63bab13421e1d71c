// Ctrl-C: asks the program to stop where it can save, and kills it when pressed again.
#pragma once

#include <csignal>

namespace dynet_like::examples {

/// While one of these lives, the first Ctrl-C (SIGINT) or SIGTERM only makes `interrupted` true;
/// the second one kills. There can be one at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool interrupted() const;

 private:
  struct sigaction before_interrupt_ = {}, before_termination_ = {};
};

}  // namespace dynet_like::examples
