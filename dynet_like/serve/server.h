// An HTTP server: requests of many clients run together, in batches.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::serve {

/// Options of a server. The limits protect it, since anybody may connect.
struct Options {
  /// The address to listen on, of this machine; "0.0.0.0" or "::" for all of its addresses.
  std::string address = "127.0.0.1";
  unsigned short port = 8080;  ///< 0: any free port, see Server::port
  std::string path = "/";      ///< POST requests to this path go to the handler
  std::string content_type = "text/plain; charset=utf-8";  ///< of the handler's answers
  unsigned io_threads = 1;          ///< threads that read and write for clients; 1 to 1,024
  std::size_t largest_batch = 64;   ///< requests that run at once; at least 1
  std::size_t queue_length = 1024;  ///< requests that wait; more get a 503
  /// A request that has waited for so long gets a 504, and is never computed.
  std::chrono::milliseconds deadline{10'000};
  std::size_t largest_body = 64 << 10;  ///< bytes of a request's body; more gets a 413
  std::size_t connections = 1024;       ///< open connections; more get a 503, and are closed
  /// The time that a client has to send a request, after the answer to the last one, and to read an
  /// answer.
  std::chrono::milliseconds client_timeout{30'000};
  /// When the server stops, waiting requests may still run for so long; the rest get a 503.
  std::chrono::milliseconds stop_timeout{10'000};
  /// While the server runs, the first SIGINT or SIGTERM stops it, and the second kills the program.
  bool stop_on_signals = true;
  GraphOptions graph = {};  ///< the server always sets `inference`
};

/// Thrown by a handler for an invalid request: the client gets a 400 with this message.
struct BadRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns the text of the answer. It is code for one sample, as in for_each_sample: if it asks for
/// a value, it waits for the other running requests. With GraphOptions::threads, several threads
/// call it.
using Handler = std::function<std::string(ComputationGraph& graph, const std::string& request)>;

/// Answers POST requests with a handler. GET /healthz says whether the server accepts requests, and
/// GET /metrics returns its counts for Prometheus. Other answers:
///
///     400  no HTTP, or the handler throws BadRequest      404, 405  another path or method
///     413  a body above largest_body                      414, 431  a target or head above 8 KiB
///     415  a Content-Encoding                             417       an unknown Expect
///     500  the handler throws: with its message           501       an unknown method or coding
///     503  the queue is full                              505       no HTTP/1
///     504  the request waited longer than its deadline
///
/// It follows RFC 9110 and 9112, including HEAD and OPTIONS. After a request whose end is not
/// clear, it closes the connection.
///
/// On the CPU, batching does not change a bit of an answer. If a client goes before its request
/// runs, the request is not computed. Closing the sending end of a connection counts as going.
class Server {
 public:
  /// Listens from now on, but answers only in `run`. Throws UsageError for invalid options,
  /// DeviceError if it cannot listen on the address.
  explicit Server(Handler handler, const Options& options = {});
  ~Server();

  unsigned short port() const;
  /// Serves until stop(), and runs the handler in this thread. A second call throws UsageError. It
  /// throws errors that prevent any graph from running, such as a lack of memory.
  void run();
  /// Accepts no more connections and requests, answers waiting requests, and ends `run`. May be
  /// called from any thread, also before `run`. Requests that run when stop_timeout ends are
  /// finished.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dynet_like::serve
