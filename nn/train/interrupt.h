// Ctrl-C: asks the program to stop where it can save, and kills it when pressed again.
#pragma once

namespace dynet_like::nn {

/// While one of these lives, in any thread, the first Ctrl-C (SIGINT) or SIGTERM only makes
/// `interrupted` true for all of them; the second one kills. After the last one, signals do what
/// they did before the first.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool interrupted() const;
};

}  // namespace dynet_like::nn
