// What the connections of a server have in common.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "dynet_like/serve/metrics.h"
#include "dynet_like/serve/request_queue.h"
#include "dynet_like/serve/server.h"

namespace dynet_like::serve {

class Connection;

/// Those that are open; for any number of threads.
class Connections {
 public:
  void add(Connection* connection);
  void remove(Connection* connection);
  std::size_t size() const;
  std::vector<std::shared_ptr<Connection>> all() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_set<Connection*> open_;
};

struct Site {
  explicit Site(const Options& its_options) : options(its_options), queue(options.queue_length) {}

  const Options options;
  RequestQueue queue;
  Metrics metrics;
  Connections connections;
  std::atomic<bool> is_stopping = false;
};

}  // namespace dynet_like::serve
