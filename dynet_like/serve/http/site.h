// Data that all connections of a server share.
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

/// The open connections. All members may be called from any thread.
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
