// An HTTP server: requests of many clients run together, batched as they come.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::serve {

/// What a server may be told. The limits are there because anybody may connect.
struct Options {
  /// Where it listens: an address of this machine, such as "0.0.0.0" or "::" for all of them.
  std::string address = "127.0.0.1";
  unsigned short port = 8080;  ///< 0: any that is free, see Server::port
  std::string path = "/";      ///< of requests for the handler, by POST
  std::string content_type = "text/plain; charset=utf-8";  ///< of what the handler returns
  unsigned io_threads = 1;          ///< read and write for the clients; at least 1
  std::size_t largest_batch = 64;   ///< requests that run at once; at least 1
  std::size_t queue_length = 1024;  ///< requests that wait to be run; more are refused with 503
  /// A request that has waited for so long is answered with 504, and never computed.
  std::chrono::milliseconds deadline{10'000};
  std::size_t largest_body = 64 << 10;  ///< bytes of a request; more is refused with 413
  std::size_t connections = 1024;       ///< open ones; more are told 503, and closed
  /// For a client to send a request, from when the last one was answered, and to read an answer.
  std::chrono::milliseconds client_timeout{30'000};
  /// For requests that wait when the server stops; the rest is answered with 503.
  std::chrono::milliseconds stop_timeout{10'000};
  /// While it runs, the first SIGINT or SIGTERM stops it, and the second one kills the program.
  bool stop_on_signals = true;
  GraphOptions graph = {};  ///< always of inference
};

/// What a handler throws for a request that makes no sense: 400, with this message.
struct BadRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns the text of the answer. It is code for one sample, as in for_each_sample: it may ask for
/// values, and then waits for the other requests that run. With GraphOptions::threads it is called
/// by several threads.
using Handler = std::function<std::string(ComputationGraph& graph, const std::string& request)>;

/// Answers POST requests by a handler; GET /healthz says whether it serves, and GET /metrics counts
/// what it did, as Prometheus reads it. Other answers:
///
///     400  no HTTP, or the handler throws BadRequest      404, 405  another path or method
///     413  a body above largest_body                      414, 431  a target or head above 8 KiB
///     415  a Content-Encoding                             417       an unknown Expect
///     500  the handler throws: with its message           501       an unknown method or coding
///     503  the queue is full                              505       no HTTP/1
///     504  the request waited longer than its deadline
///
/// It does what RFC 9110 and 9112 demand, also HEAD and OPTIONS. A connection is closed after a
/// request whose end is not clear.
///
/// On the CPU an answer has the bits that it has alone. A client that has gone is not computed for,
/// unless its request runs already. To close the sending end of a connection counts as going.
class Server {
 public:
  /// Listens from now on; `run` answers. Throws UsageError for options that make no sense,
  /// DeviceError if the address cannot be had.
  explicit Server(Handler handler, const Options& options = {});
  ~Server();

  unsigned short port() const;
  /// Serves until it is told to stop; runs the handler in this thread. Only once: throws UsageError
  /// if it is called again. What makes any graph impossible, such as memory that is not there, is
  /// thrown on.
  void run();
  /// From any thread, also before `run`: takes no more connections and requests, answers those that
  /// wait, and ends `run`. What runs when stop_timeout ends is finished.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dynet_like::serve
