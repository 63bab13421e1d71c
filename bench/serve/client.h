// A client of a server on this machine. All calls block.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace dynet_like::bench {

class Client {
 public:
  struct Answer {
    unsigned status;
    std::string text;
  };

  /// Connects. Throws std::runtime_error if nothing listens on the port.
  explicit Client(unsigned short port);
  ~Client();
  Client(Client&&) noexcept;

  /// Posts a text. Returns nothing if the whole answer has not come within a minute. If an answer
  /// ends the connection, the next call opens another.
  std::optional<Answer> ask(const std::string& text);
  void send_request(const std::string& text);
  void send(const std::string& bytes);
  /// Closes the connection, normally or by a reset.
  void close(bool reset);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dynet_like::bench
