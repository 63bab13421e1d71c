// The server: one thread runs the handlers, other threads read and write; a queue connects them.
#include "dynet_like/serve/server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/error.hpp>
#include <csignal>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/for_each_sample.h"
#include "dynet_like/serve/http/connection.h"
#include "dynet_like/serve/http/site.h"

namespace dynet_like::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

namespace {

constexpr unsigned kMostIoThreads = 1024;
constexpr std::chrono::milliseconds kAcceptAgain{20};  // if no file descriptors are left

const Options& checked(const Options& options) {
  const auto need = [](bool holds, const std::string& what) {
    if (!holds) throw UsageError("[serve] need " + what);
  };
  const std::chrono::milliseconds zero{0};
  need(options.io_threads > 0 && options.io_threads <= kMostIoThreads,
       "1 to " + std::to_string(kMostIoThreads) + " as io_threads; got " +
           std::to_string(options.io_threads));
  need(options.largest_batch > 0, "a largest_batch of at least 1; got 0");
  need(options.queue_length > 0, "a queue_length of at least 1; got 0");
  need(options.connections > 0, "at least one of connections; got 0");
  need(options.deadline > zero && options.client_timeout > zero, "time limits above 0");
  need(options.stop_timeout >= zero, "a stop_timeout of at least 0");
  need(options.path.starts_with('/'), "a path that begins with /; got " + options.path);
  need(options.path != "/healthz" && options.path != "/metrics",
       "a path other than /healthz and /metrics");
  return options;
}

}  // namespace

class Server::Impl {
 public:
  Impl(Handler handler, const Options& options);
  ~Impl();

  unsigned short port() const { return port_; }
  void run();
  void stop();

 private:
  void listen();
  void accept();
  void on_accept(tcp::socket socket);
  void begin_stop();
  void refuse_waiting();
  void run_io();
  void start_threads();
  void run_handlers();
  std::optional<Request> next(bool idle);
  void answer(ComputationGraph& graph, Request& request);

  const Handler handler_;
  Site site_;
  asio::io_context io_;  // after site_: it is destroyed first, with connections that use site_
  asio::strand<asio::io_context::executor_type> strand_{io_.get_executor()};
  tcp::acceptor acceptor_{strand_};
  asio::signal_set signals_{strand_};
  asio::steady_timer stop_timer_{strand_}, accept_timer_{strand_};
  unsigned short port_ = 0;
  std::atomic<bool> has_run_ = false;
  std::vector<std::thread> threads_;
  // Used by the thread that runs for_each_arriving; handlers may run on several threads.
  std::atomic<std::size_t> running_ = 0;
  std::size_t taken_ = 0;
  bool wave_begins_ = true, takes_some_ = true;
};

Server::Impl::Impl(Handler handler, const Options& options)
    : handler_(std::move(handler)), site_(checked(options)) {
  listen();
}

// Requests hold connections, which need io_: drop them before io_ is destroyed.
Server::Impl::~Impl() {
  for (Request& request : site_.queue.take_all()) request.drop();
}

void Server::Impl::listen() {
  beast::error_code error;
  const auto check = [&] {
    if (!error) return;
    throw DeviceError("[serve] need an address that is free; got " + site_.options.address +
                      " and port " + std::to_string(site_.options.port) + ": " + error.message());
  };
  const auto address = asio::ip::make_address(site_.options.address, error);
  check();
  const tcp::endpoint endpoint(address, site_.options.port);
  acceptor_.open(endpoint.protocol(), error);
  check();
  acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  check();
  acceptor_.bind(endpoint, error);
  check();
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  check();
  port_ = acceptor_.local_endpoint().port();
}

void Server::Impl::accept() {
  acceptor_.async_accept(asio::make_strand(io_),
                         [this](beast::error_code error, tcp::socket socket) {
                           if (site_.is_stopping) return;
                           if (!error) {
                             on_accept(std::move(socket));
                             return accept();
                           }
                           accept_timer_.expires_after(kAcceptAgain);
                           accept_timer_.async_wait([this](beast::error_code) {
                             if (!site_.is_stopping) accept();
                           });
                         });
}

void Server::Impl::on_accept(tcp::socket socket) {
  try {
    const std::size_t open = site_.connections.size(), most = site_.options.connections;
    if (open / 2 >= most) return;  // too many are being refused already: close it without an answer
    const auto connection = std::make_shared<Connection>(std::move(socket), site_);
    open < most ? connection->start() : connection->refuse();
  } catch (const std::exception&) {  // out of memory: the connection is closed
  }
}

// Runs on the strand.
void Server::Impl::begin_stop() {
  if (site_.is_stopping.exchange(true)) return;
  beast::error_code ignored;
  acceptor_.close(ignored);
  accept_timer_.cancel();
  signals_.clear(ignored);  // another signal kills the program
  signals_.cancel(ignored);
  site_.queue.close();
  stop_timer_.expires_after(site_.options.stop_timeout);
  stop_timer_.async_wait([this](beast::error_code error) {
    if (!error) refuse_waiting();
  });
}

void Server::Impl::refuse_waiting() {
  for (Request& request : site_.queue.take_all()) request.answer({503, "stopping\n"});
}

void Server::Impl::stop() {
  asio::post(strand_, [this] { begin_stop(); });
}

// If memory runs out in a connection, nothing holds it any more, and it closes. The others go on.
void Server::Impl::run_io() {
  for (;;) {
    try {
      io_.run();
      return;
    } catch (const std::exception&) {
    }
  }
}

void Server::Impl::start_threads() {
  try {
    for (unsigned i = 0; i < site_.options.io_threads; ++i) {
      threads_.emplace_back([this] { run_io(); });
    }
  } catch (const std::exception&) {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    throw DeviceError("[serve] need io_threads that the system starts; got " +
                      std::to_string(threads_.size()) + " of " +
                      std::to_string(site_.options.io_threads));
  }
}

void Server::Impl::run() {
  if (has_run_.exchange(true)) throw UsageError("[serve] need one call of run; got another one");
  auto work = asio::make_work_guard(io_);
  if (site_.options.stop_on_signals) {
    signals_.add(SIGINT);
    signals_.add(SIGTERM);
    signals_.async_wait([this](beast::error_code error, int) {
      if (!error) begin_stop();
    });
  }
  asio::post(strand_, [this] {
    if (!site_.is_stopping) accept();
  });
  start_threads();
  std::exception_ptr failure;
  try {
    run_handlers();
  } catch (...) {
    failure = std::current_exception();
  }
  asio::post(strand_, [this, &work] {
    begin_stop();
    stop_timer_.cancel();
    refuse_waiting();
    for (const auto& connection : site_.connections.all()) connection->close_if_reading();
    work.reset();
  });
  for (std::thread& thread : threads_) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void Server::Impl::run_handlers() {
  GraphOptions options = site_.options.graph;
  options.inference = true;
  Minibatch batch(options);
  for (;;) {
    const std::size_t taken = taken_;
    try {
      // One more than may run, so that `next` is called before every wave.
      return for_each_arriving(
          batch, site_.options.largest_batch + 1, [this](bool idle) { return next(idle); },
          [this](ComputationGraph& graph, Request& request) { answer(graph, request); });
    } catch (const std::exception&) {
      // The requests that ran have been answered. If there were none, the next try would fail, too.
      if (taken_ == taken) throw;
      running_ = 0;
      wave_begins_ = true;
      batch.clear();
    }
  }
}

// Called between waves. All handlers that still run took part in the last wave.
std::optional<Request> Server::Impl::next(bool idle) {
  const std::size_t largest = site_.options.largest_batch;
  if (std::exchange(wave_begins_, false)) {
    if (running_ > 0) site_.metrics.add_batch(running_);
    // The first steps of a request, such as reading it, are often many. A request that begins alone
    // would run them in batches of one: so if many wait, they begin in groups.
    const std::size_t group = std::max<std::size_t>(largest / 4, 1);
    takes_some_ = largest - running_ >= std::min(site_.queue.size(), group);
  }
  while (takes_some_ && running_ < largest) {
    std::optional<Request> request = site_.queue.pop(idle);
    if (!request.has_value()) break;
    if (Clock::now() < request->deadline()) {
      ++running_;
      ++taken_;
      return request;
    }
    request->answer({504, "waited too long\n"});
  }
  wave_begins_ = true;
  return std::nullopt;
}

void Server::Impl::answer(ComputationGraph& graph, Request& request) {
  Answer answer;
  try {
    answer.text = handler_(graph, request.text());
  } catch (const BadRequest& error) {
    answer = {400, error.what()};
  } catch (const std::exception& error) {
    answer = {500, error.what()};
  } catch (...) {  // not of std::exception, or the handler is unwound because memory ran out
    answer = {500, "the request failed"};
  }
  --running_;
  site_.metrics.add_latency(Clock::now() - request.arrived());
  request.answer(std::move(answer));
}

Server::Server(Handler handler, const Options& options)
    : impl_(std::make_unique<Impl>(std::move(handler), options)) {}
Server::~Server() = default;

unsigned short Server::port() const { return impl_->port(); }
void Server::run() { impl_->run(); }
void Server::stop() { impl_->stop(); }

}  // namespace dynet_like::serve
