// Requests that wait to be run: a bounded queue, from which clients that go take theirs away.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace dynet_like::serve {

using Clock = std::chrono::steady_clock;

/// What a client is answered, by HTTP.
struct Answer {
  unsigned status = 200;
  std::string text;
  std::string allow = {};         ///< methods of the target, for 405 and OPTIONS
  std::string content_type = {};  ///< of the text; empty: plain text
};

/// A request that is answered once: when it is destroyed at the latest, with 500.
class Request {
 public:
  using Send = std::function<void(Answer answer)>;

  Request(std::string text, Clock::time_point deadline, Send send);
  ~Request();
  Request(Request&& other) noexcept;
  Request& operator=(Request&& other) noexcept;

  const std::string& text() const { return text_; }
  Clock::time_point arrived() const { return arrived_; }
  Clock::time_point deadline() const { return deadline_; }
  void answer(Answer answer);
  /// Nobody waits for the answer.
  void drop() { send_ = nullptr; }

 private:
  void fail();

  std::string text_;
  Clock::time_point arrived_ = Clock::now(), deadline_;
  Send send_;
};

/// First in, first out; for any number of threads.
class RequestQueue {
 public:
  using Ticket = std::uint64_t;

  explicit RequestQueue(std::size_t length) : length_(length) {}

  /// Nothing, and the request stays where it is, if the queue is full or closed.
  std::optional<Ticket> push(Request& request);
  /// The first one. If there is none: nothing, or waits until one comes or the queue is closed.
  std::optional<Request> pop(bool wait);
  /// Nothing, if it was taken already.
  std::optional<Request> remove(Ticket ticket);
  /// Takes no more, and gives what it has.
  void close();
  std::vector<Request> take_all();
  std::size_t size() const;

 private:
  const std::size_t length_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Ticket, Request> waiting_;
  Ticket next_ = 0;
  bool is_closed_ = false;
};

}  // namespace dynet_like::serve
