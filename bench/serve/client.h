// A client of a server on this machine; all calls wait.
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

  /// Connects; throws std::runtime_error if nobody listens.
  explicit Client(unsigned short port);
  ~Client();
  Client(Client&&) noexcept;

  /// Posts a text. Nothing, if the whole answer has not come within a minute. After an answer that
  /// ends the connection there is a new one.
  std::optional<Answer> ask(const std::string& text);
  void send_request(const std::string& text);
  void send(const std::string& bytes);
  /// In order, or by a reset.
  void close(bool reset);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dynet_like::bench
