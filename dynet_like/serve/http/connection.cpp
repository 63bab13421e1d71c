// The way of a connection, by Boost.Beast. Whatever a client sends, it costs no more than the
// options allow: sizes are checked before there is memory for them, and everything has a time
// limit.
#include "dynet_like/serve/http/connection.h"

#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <string_view>
#include <utility>

namespace dynet_like::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

namespace {

constexpr std::size_t kBufferBytes = 64 << 10;
constexpr std::uint32_t kHeadBytes = 8 << 10;
constexpr std::chrono::seconds kDrainTime{1};
const std::string kPlainText = "text/plain; charset=utf-8";

// 0: it is the client that has failed, so that there is nobody to tell.
unsigned status_of(beast::error_code error) {
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  return error.category() == make_error_code(http::error::body_limit).category() ? 400 : 0;
}

// With 503 the client is asked to try again.
Response make_response(Answer answer, const std::string& content_type, bool keep_alive) {
  Response response(http::int_to_status(answer.status), 11);
  response.set(http::field::content_type, content_type);
  if (answer.status == 503) response.set(http::field::retry_after, "1");
  response.keep_alive(keep_alive);
  response.body() = std::move(answer.text);
  response.prepare_payload();
  return response;
}

}  // namespace

void Connections::add(Connection* connection) {
  const std::lock_guard lock(mutex_);
  open_.insert(connection);
}

void Connections::remove(Connection* connection) {
  const std::lock_guard lock(mutex_);
  open_.erase(connection);
}

std::size_t Connections::size() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

// One that is being destroyed waits for the mutex, and has no handle any more.
std::vector<std::shared_ptr<Connection>> Connections::all() const {
  std::vector<std::shared_ptr<Connection>> all;
  const std::lock_guard lock(mutex_);
  all.reserve(open_.size());
  for (Connection* connection : open_) {
    // Kept even if it is the last handle: a destructor here would wait for this mutex.
    if (auto handle = connection->weak_from_this().lock()) all.push_back(std::move(handle));
  }
  return all;
}

Connection::Connection(tcp::socket socket, Site& site)
    : site_(site),
      stream_(std::move(socket)),
      deadline_(stream_.get_executor()),
      buffer_(kBufferBytes) {
  beast::error_code ignored;
  stream_.socket().set_option(tcp::no_delay(true), ignored);
  stream_.socket().non_blocking(true, ignored);
  site_.connections.add(this);
}

Connection::~Connection() { site_.connections.remove(this); }

void Connection::start() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->read(); });
}

void Connection::refuse() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    self->respond({503, "too many connections\n"}, kPlainText, false);
  });
}

void Connection::close_if_reading() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    if (self->state_ == State::reading) self->close();
  });
}

void Connection::close() {
  state_ = State::gone;
  deadline_.cancel();
  stream_.close();
}

void Connection::read() {
  if (site_.is_stopping) return drain();
  state_ = State::reading;
  parser_.emplace();
  parser_->header_limit(kHeadBytes);
  parser_->body_limit(site_.options.largest_body);
  stream_.expires_after(site_.options.client_timeout);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](Error error, std::size_t) { self->read_body(error); });
}

void Connection::read_body(Error error) {
  if (error) return on_bad_read(error);
  if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
    parser_->get().erase(http::field::expect);
    response_.emplace(http::status::continue_, 11);
    return http::async_write(
        stream_, *response_,
        [self = shared_from_this()](Error failed, std::size_t) { self->read_body(failed); });
  }
  http::async_read(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](Error failed, std::size_t) { self->on_read(failed); });
}

void Connection::on_read(Error error) {
  if (error) return on_bad_read(error);
  stream_.expires_never();
  route();
}

void Connection::on_bad_read(Error error) {
  if (error == beast::error::timeout) site_.metrics.count_slow();
  const unsigned status = status_of(error);
  if (status == 0) return close();
  respond({status, "bad request: " + error.message() + "\n"}, kPlainText, false);
}

void Connection::route() {
  const auto& request = parser_->get();
  const std::string_view target(request.target().data(), request.target().size());
  const std::string_view path = target.substr(0, target.find('?'));
  const bool is_health = path == "/healthz", is_metrics = path == "/metrics";
  if (!is_health && !is_metrics && path != site_.options.path) {
    return respond({404, "not found\n"}, kPlainText, request.keep_alive());
  }
  const http::verb method = is_health || is_metrics ? http::verb::get : http::verb::post;
  if (request.method() != method) {
    return respond({405, "need " + std::string(http::to_string(method)) + "\n"}, kPlainText,
                   request.keep_alive());
  }
  if (is_health) {
    const bool serves = !site_.is_stopping;
    return respond({serves ? 200u : 503u, serves ? "ok\n" : "stopping\n"}, kPlainText,
                   request.keep_alive());
  }
  if (is_metrics) {
    return respond({200, site_.metrics.text(site_.queue.size(), site_.connections.size())},
                   "text/plain; version=0.0.4", request.keep_alive());
  }
  enqueue();
}

void Connection::enqueue() {
  site_.metrics.count_request();
  const Clock::time_point deadline = Clock::now() + site_.options.deadline;
  Request request(
      std::move(parser_->get().body()), deadline, [self = shared_from_this()](Answer answer) {
        asio::post(self->stream_.get_executor(), [self, answer = std::move(answer)]() mutable {
          self->on_answer(std::move(answer));
        });
      });
  const std::optional<RequestQueue::Ticket> ticket = site_.queue.push(request);
  if (!ticket.has_value()) {
    request.drop();
    return respond({503, site_.is_stopping ? "stopping\n" : "too many requests wait\n"}, kPlainText,
                   parser_->get().keep_alive());
  }
  // An answer that is there already has been posted, and comes after this.
  state_ = State::waiting;
  ticket_ = *ticket;
  watch_deadline(deadline);
  watch_client();
}

void Connection::watch_deadline(Clock::time_point deadline) {
  deadline_.expires_at(deadline);
  deadline_.async_wait([self = shared_from_this(), ticket = ticket_](Error error) {
    if (error) return;
    if (auto request = self->site_.queue.remove(ticket)) {
      request->answer({504, "waited too long\n"});
    }
  });
}

void Connection::watch_client() {
  if (std::exchange(is_watching_, true)) return;
  stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this()](Error error) {
    self->is_watching_ = false;
    if (!error) self->on_readable();
  });
}

// Either the client has gone, or it sends its next request before this one is answered.
void Connection::on_readable() {
  if (state_ != State::waiting) return;
  char next = 0;
  Error error;
  const std::size_t bytes =
      stream_.socket().receive(asio::buffer(&next, 1), tcp::socket::message_peek, error);
  if (error == asio::error::would_block) return watch_client();
  if (!error && bytes > 0) return;
  if (auto request = site_.queue.remove(ticket_)) {
    request->drop();
    site_.metrics.count_vanished();
  }
  close();
}

void Connection::on_answer(Answer answer) {
  if (state_ != State::waiting) return;
  deadline_.cancel();
  const bool is_handlers = answer.status == 200;
  respond(std::move(answer), is_handlers ? site_.options.content_type : kPlainText,
          parser_->get().keep_alive());
}

void Connection::respond(Answer answer, const std::string& content_type, bool keep_alive) {
  state_ = State::writing;
  site_.metrics.count_answer(answer.status);
  response_ = make_response(std::move(answer), content_type, keep_alive && !site_.is_stopping);
  stream_.expires_after(site_.options.client_timeout);
  http::async_write(stream_, *response_, [self = shared_from_this()](Error error, std::size_t) {
    self->on_written(error);
  });
}

void Connection::on_written(Error error) {
  if (error == beast::error::timeout) site_.metrics.count_slow();
  if (error) return close();
  const bool keep_alive = response_->keep_alive();
  response_.reset();
  if (!keep_alive) return drain();
  read();
}

// What the client still sends is read for a while: closing before that would reset the connection,
// and the answer could be lost on its way.
void Connection::drain() {
  if (state_ != State::gone) {
    state_ = State::gone;
    Error ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kDrainTime);
  }
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(kHeadBytes),
                          [self = shared_from_this()](Error error, std::size_t) {
                            if (error) return self->close();
                            self->drain();
                          });
}

}  // namespace dynet_like::serve
