// A server that runs beside a test, and clients of it.
#pragma once

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <condition_variable>
#include <future>
#include <thread>

#include "dynet_like/serve/server.h"
#include "tests/support/walker.h"

namespace dynet_like::serve::testing {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

/// At any free port, until it is destroyed.
class RunningServer {
 public:
  explicit RunningServer(Handler handler, Options options = {})
      : server_(std::move(handler), prepared(std::move(options))),
        ended_(std::async(std::launch::async, [this] { server_.run(); })) {}
  ~RunningServer() {
    server_.stop();
    if (ended_.valid()) ended_.wait();
  }

  unsigned short port() const { return server_.port(); }
  void stop() { server_.stop(); }
  /// Waits until so many requests wait to be run. False if they do not.
  bool has_waiting(double count) const;
  /// Throws what `run` throws.
  void wait() { ended_.get(); }
  bool has_ended() { return ended_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

 private:
  static Options prepared(Options options) {
    options.port = 0;
    options.stop_on_signals = false;
    return options;
  }

  Server server_;
  std::future<void> ended_;
};

/// One connection, of which all calls wait.
class Client {
 public:
  explicit Client(unsigned short port) : socket_(io_) {
    socket_.connect({asio::ip::make_address("127.0.0.1"), port});
  }

  void send(const std::string& bytes) {
    boost::system::error_code ignored;  // the server may be through with it
    asio::write(socket_, asio::buffer(bytes), ignored);
  }
  void send(http::verb method, const std::string& target, const std::string& body) {
    http::request<http::string_body> request(method, target, 11, body);
    request.set(http::field::host, "test");
    request.prepare_payload();
    http::write(socket_, request);
  }
  http::response<http::string_body> receive() {
    http::response_parser<http::string_body> parser;
    parser.body_limit(std::size_t{1} << 30);
    http::read(socket_, buffer_, parser);
    return parser.release();
  }
  /// All that comes until the server closes the connection.
  std::string receive_all() {
    std::string all;
    boost::system::error_code ignored;
    asio::read(socket_, asio::dynamic_buffer(all), ignored);
    return all;
  }
  /// With a reset: what was received is forgotten, and the server is told at once.
  void vanish() {
    socket_.set_option(asio::socket_base::linger(true, 0));
    socket_.close();
  }

 private:
  asio::io_context io_;
  tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
};

inline http::response<http::string_body> post(unsigned short port, const std::string& body) {
  Client client(port);
  client.send(http::verb::post, "/", body);
  return client.receive();
}

inline std::string get(unsigned short port, const std::string& target) {
  Client client(port);
  client.send(http::verb::get, target, "");
  return client.receive().body();
}

/// Of a counter or gauge of /metrics, with its labels.
inline double metric(unsigned short port, const std::string& name) {
  const std::string text = "\n" + get(port, "/metrics");
  const std::size_t place = text.find("\n" + name + " ");
  return place == text.npos ? -1 : std::stod(text.substr(place + name.size() + 2));
}

/// Whether something becomes true within ten seconds.
template <class Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline bool RunningServer::has_waiting(double count) const {
  return eventually([&] { return metric(port(), "dynet_like_queue_length") == count; });
}

/// The answer to a text, which a thread of its own asks for.
template <class AnyServer>
std::future<std::string> asked(const AnyServer& server, std::string text) {
  return std::async(std::launch::async, [port = server.port(), text = std::move(text)] {
    return post(port, text).body();
  });
}

/// The bits of a walk, as text.
inline std::string walk(const dynet_like::testing::Walker& walker, ComputationGraph& graph,
                        const std::string& sample) {
  std::string text;
  for (const float score : walker.walk(graph, static_cast<unsigned>(std::stoul(sample))).scores) {
    text += std::to_string(std::bit_cast<std::uint32_t>(score)) + " ";
  }
  return text;
}

/// Handlers wait at it until the test opens it; it is open when it is destroyed.
class Gate {
 public:
  ~Gate() { open(); }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++reached_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_; });
  }
  /// Waits until a handler has come to it.
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int reached_ = 0;
  bool is_open_ = false;
};

}  // namespace dynet_like::serve::testing
