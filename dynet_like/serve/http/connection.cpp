// A connection, by Boost.Beast. Whatever a client sends, it costs no more than the options allow:
// sizes are checked before memory is allocated, and everything has a time limit.
#include "dynet_like/serve/http/connection.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <ctime>
#include <string_view>
#include <utility>

#include "dynet_like/serve/http/request_head.h"

namespace dynet_like::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

namespace {

constexpr std::size_t kBufferBytes = 64 << 10;
constexpr std::chrono::seconds kDrainTime{1};

// Returns 0 if the client itself has failed, so that nobody can read an answer.
unsigned status_of(beast::error_code error) {
  if (error == http::error::partial_message) return 0;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  return error.category() == make_error_code(http::error::body_limit).category() ? 400 : 0;
}

// RFC 9110, section 6.6.1. Names of days and months are English in every locale.
std::string date_now() {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}", fmt::gmtime(std::time(nullptr)));
}

// A response with status 503 asks the client to try again.
Response make_response(Answer answer) {
  Response response(http::int_to_status(answer.status), 11);
  response.set(http::field::date, date_now());
  response.set(http::field::content_type,
               answer.content_type.empty() ? "text/plain; charset=utf-8" : answer.content_type);
  if (!answer.allow.empty()) response.set(http::field::allow, answer.allow);
  if (answer.status == 503) response.set(http::field::retry_after, "1");
  response.body() = std::move(answer.text);
  response.prepare_payload();
  return response;
}

// RFC 9112, section 7.1.1. Beast accepts a line feed in quotes, where others see the end of the
// line.
void check_chunk_extensions(std::uint64_t, beast::string_view extensions,
                            beast::error_code& error) {
  const auto is_control = [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; };
  if (std::any_of(extensions.begin(), extensions.end(), is_control)) {
    error = http::error::bad_chunk_extension;
  }
}

bool is_100_continue(beast::string_view expect) { return beast::iequals(expect, "100-continue"); }

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

// A connection that is being destroyed has no handle any more, and waits for the mutex.
std::vector<std::shared_ptr<Connection>> Connections::all() const {
  std::vector<std::shared_ptr<Connection>> all;
  const std::lock_guard lock(mutex_);
  all.reserve(open_.size());
  for (Connection* connection : open_) {
    // Keep even the last handle: if it ended here, the destructor would wait for this mutex.
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
    self->respond({503, "too many connections\n"}, false);
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
  is_head_ = false;
  stream_.expires_after(site_.options.client_timeout);
  read_head();
}

void Connection::read_head() {
  const auto bytes = [this] {
    return std::string_view(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  };
  while (bytes().starts_with("\r\n")) buffer_.consume(2);  // RFC 9112, section 2.2
  FoundHead head = find_head(bytes());
  is_head_ = bytes().starts_with("HEAD ");
  if (head.refusal.has_value()) return respond(std::move(*head.refusal), false);
  if (head.size > 0) return parse_head(head.size);
  stream_.async_read_some(buffer_.prepare(kHeadBytes),
                          [self = shared_from_this()](Error error, std::size_t size) {
                            self->buffer_.commit(size);
                            error ? self->on_bad_read(error) : self->read_head();
                          });
}

void Connection::parse_head(std::size_t size) {
  const auto bytes = static_cast<char*>(buffer_.data().data());
  // Takes HTTP/1.2 and later for 1.1, the last version that Beast knows (RFC 9110, section 2.5).
  char& minor_version = bytes[std::string_view(bytes, size).find("\r\n") - 1];
  if (minor_version > '1') minor_version = '1';
  parser_.emplace();
  parser_->header_limit(kHeadBytes);
  parser_->body_limit(site_.options.largest_body);
  parser_->on_chunk_header(check_chunk_extensions);
  Error error;
  buffer_.consume(parser_->put(asio::buffer(bytes, size), error));
  if (error) return on_bad_read(error);
  if (auto refusal = refusal_of_fields(parser_->get())) return respond(std::move(*refusal), false);
  keep_alive_ = parser_->keep_alive();  // read it now: trailers of the body could change it
  answer_ = answer_without_handler();
  read_body();
}

// A client may ask first whether to send its body. It is told to go on, or gets the answer that the
// head alone determines, and may then send no body: so the connection closes. An unknown Expect has
// such an answer, too.
void Connection::read_body() {
  if (parser_->is_done()) return on_read({});
  const auto& fields = parser_->get();
  if (fields.version() < 11 || fields[http::field::expect].empty()) return read_content();
  if (answer_.has_value()) return respond(std::move(*answer_), false);
  response_.emplace(http::status::continue_, 11);
  http::async_write(stream_, *response_, [self = shared_from_this()](Error error, std::size_t) {
    error ? self->on_bad_read(error) : self->read_content();
  });
}

void Connection::read_content() {
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](Error error, std::size_t) { self->on_read(error); });
}

void Connection::on_read(Error error) {
  if (error) return on_bad_read(error);
  stream_.expires_never();
  answer_.has_value() ? respond(std::move(*answer_), keep_alive_) : enqueue();
}

void Connection::on_bad_read(Error error) {
  if (error == beast::error::timeout) site_.metrics.count_slow();
  const unsigned status = status_of(error);
  if (status == 0) return close();
  respond({status, "bad request: " + error.message() + "\n"}, false);
}

// RFC 9110, sections 9, 15.5 and 15.6.
std::optional<Answer> Connection::answer_without_handler() {
  const auto& fields = parser_->get();
  const http::verb method = fields.method();
  if (method == http::verb::unknown || method == http::verb::connect) {
    return Answer{501, "need GET, HEAD, POST or OPTIONS\n"};
  }
  const std::string_view path = path_of({fields.target().data(), fields.target().size()});
  const bool is_all = path == "*", is_health = path == "/healthz", is_metrics = path == "/metrics";
  if (!is_all && !is_health && !is_metrics && path != site_.options.path) {
    return Answer{404, "not found\n"};
  }
  const bool reports = is_health || is_metrics;
  const std::string allow = is_all    ? "GET, HEAD, POST, OPTIONS"
                            : reports ? "GET, HEAD, OPTIONS"
                                      : "POST, OPTIONS";
  if (method == http::verb::options) return Answer{200, "", allow};
  const bool gets = method == http::verb::get || method == http::verb::head;
  if (reports ? !gets : method != http::verb::post) {
    return Answer{405, "need " + allow + "\n", allow};
  }
  if (is_health) return site_.is_stopping ? Answer{503, "stopping\n"} : Answer{200, "ok\n"};
  if (is_metrics) {
    return Answer{200, site_.metrics.text(site_.queue.size(), site_.connections.size()), "",
                  "text/plain; version=0.0.4"};
  }
  const auto coding = fields[http::field::content_encoding];
  if (!coding.empty() && !beast::iequals(coding, "identity")) {
    return Answer{415, "need a body without Content-Encoding\n"};
  }
  const auto expect = fields[http::field::expect];
  if (fields.version() > 10 && !expect.empty() && !is_100_continue(expect)) {
    return Answer{417, "need Expect: 100-continue, or none\n"};
  }
  return std::nullopt;
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
    return respond({503, site_.is_stopping ? "stopping\n" : "too many requests wait\n"},
                   keep_alive_);
  }
  // If the answer exists already, it has been posted, and is handled after this.
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

// The client has either gone, or sent its next request before this one was answered.
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
  if (answer.status == 200) answer.content_type = site_.options.content_type;
  respond(std::move(answer), keep_alive_);
}

void Connection::respond(Answer answer, bool keep_alive) {
  state_ = State::writing;
  site_.metrics.count_answer(answer.status);
  response_ = make_response(std::move(answer));
  response_->keep_alive(keep_alive && !site_.is_stopping);
  // A client of HTTP/1.0 must be told that the connection stays open.
  if (response_->keep_alive() && parser_->get().version() < 11) {
    response_->set(http::field::connection, "keep-alive");
  }
  if (is_head_) response_->body().clear();  // the length stays in the head
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

// Reads for a while what the client still sends. Closing at once would reset the connection, and
// the client might not get the answer.
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
