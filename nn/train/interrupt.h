// Ctrl-C: lets the program stop and save; a second Ctrl-C ends it at once.
#pragma once

namespace dynet_like::nn {

/// While an InterruptWatch lives, in any thread, the first Ctrl-C (SIGINT) or SIGTERM only makes
/// `interrupted` true in all of them; the second ends the process. When the last watch is
/// destroyed, the earlier signal handlers return.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool interrupted() const;
};

}  // namespace dynet_like::nn
