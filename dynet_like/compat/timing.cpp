// Output of timers.
#include "dynet/timing.h"

#include <iostream>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"

namespace dynet {

Timer::~Timer() { std::cerr << '[' << message_ << ' ' << timing_.stop() << " ms]\n"; }

void NamedTimer::stop(const std::string& name) {
  const auto found = running_.find(name);
  if (found == running_.end()) {
    throw dynet_like::UsageError("[NamedTimer] need a timer that was started; got \"" + name + '"' +
                                 dynet_like::detail::nearest_keys_text(name, running_));
  }
  milliseconds_[name] += found->second.stop();
  running_.erase(found);
}

void NamedTimer::show() const {
  for (const auto& [name, milliseconds] : milliseconds_) {
    std::cerr << name << '\t' << milliseconds << " ms\n";
  }
}

}  // namespace dynet
