// Requests by Boost.Beast on a blocking socket.
#include "bench/serve/client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace dynet_like::bench {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

struct Client::Impl {
  explicit Impl(unsigned short its_port) : port(its_port) { connect(); }

  void connect() {
    buffer.clear();
    socket = tcp::socket(io);
    socket.connect({asio::ip::address_v4::loopback(), port});
    socket.set_option(tcp::no_delay(true));
    const timeval limit = {60, 0};
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }

  unsigned short port;
  asio::io_context io{1};
  tcp::socket socket{io};
  boost::beast::flat_buffer buffer;
};

Client::Client(unsigned short port) : impl_(std::make_unique<Impl>(port)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;

void Client::send_request(const std::string& text) {
  http::request<http::string_body> request(http::verb::post, "/", 11, text);
  request.set(http::field::host, "localhost");
  request.prepare_payload();
  boost::system::error_code ignored;  // reading will notice an error
  http::write(impl_->socket, request, ignored);
}

std::optional<Client::Answer> Client::ask(const std::string& text) {
  send_request(text);
  http::response<http::string_body> response;
  boost::system::error_code error;
  http::read(impl_->socket, impl_->buffer, response, error);
  if (error || !response.keep_alive()) impl_->connect();
  if (error) return std::nullopt;
  return Answer{response.result_int(), std::move(response.body())};
}

void Client::send(const std::string& bytes) {
  boost::system::error_code ignored;
  asio::write(impl_->socket, asio::buffer(bytes), ignored);
}

void Client::close(bool reset) {
  boost::system::error_code ignored;
  if (reset) impl_->socket.set_option(asio::socket_base::linger(true, 0), ignored);
  impl_->socket.close(ignored);
}

}  // namespace dynet_like::bench
