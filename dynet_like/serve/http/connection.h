// One client of a server: reads a request, waits for its answer, writes it, and starts again.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>
#include <string>

#include "dynet_like/serve/http/site.h"

namespace dynet_like::serve {

using Response = boost::beast::http::response<boost::beast::http::string_body>;

/// Lives while it has something to do. It runs on the strand of its socket; only its constructor
/// and destructor run on other threads.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, Site& site);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Begins to serve the client, or refuses it. May be called from any thread, once.
  void start();
  void refuse();
  /// Closes the connection if it reads a request, since none is answered any more. From any thread.
  void close_if_reading();

 private:
  using Error = boost::beast::error_code;
  enum class State { reading, waiting, writing, gone };

  void read();
  void read_head();
  void parse_head(std::size_t size);
  void read_body();
  void read_content();
  void on_read(Error error);
  void on_bad_read(Error error);
  std::optional<Answer> answer_without_handler();
  void enqueue();
  void watch_deadline(Clock::time_point deadline);
  void watch_client();
  void on_readable();
  void on_answer(Answer answer);
  void respond(Answer answer, bool keep_alive);
  void on_written(Error error);
  void drain();
  void close();

  Site& site_;
  boost::beast::tcp_stream stream_;
  boost::asio::steady_timer deadline_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::optional<Response> response_;
  std::optional<Answer> answer_;  ///< set if the head alone determines it
  bool is_head_ = false;          ///< the answer has no body
  bool keep_alive_ = false;
  State state_ = State::reading;
  RequestQueue::Ticket ticket_ = 0;  ///< valid while the request waits
  bool is_watching_ = false;         ///< whether the socket will report when there is something to
                                     ///< read
};

}  // namespace dynet_like::serve
