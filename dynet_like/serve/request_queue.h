// Requests that wait to be run: a bounded queue. If a client goes, its request is removed.
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

/// An HTTP answer to a client.
struct Answer {
  unsigned status = 200;
  std::string text;
  std::string allow = {};         ///< allowed methods, for 405 and OPTIONS
  std::string content_type = {};  ///< empty for plain text
};

/// A request, which is answered once. If it is destroyed without an answer, it gets a 500.
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
  /// Call it if nobody waits for the answer.
  void drop() { send_ = nullptr; }

 private:
  void fail();

  std::string text_;
  Clock::time_point arrived_ = Clock::now(), deadline_;
  Send send_;
};

/// First in, first out. All members may be called from any thread.
class RequestQueue {
 public:
  using Ticket = std::uint64_t;

  explicit RequestQueue(std::size_t length) : length_(length) {}

  /// Moves the request into the queue. If the queue is full or closed: returns nothing, and leaves
  /// the request unchanged.
  std::optional<Ticket> push(Request& request);
  /// The first request. If there is none: with `wait`, waits until one comes or the queue is
  /// closed; otherwise returns nothing.
  std::optional<Request> pop(bool wait);
  /// Removes a waiting request. Returns nothing if it was taken already.
  std::optional<Request> remove(Ticket ticket);
  /// Accepts no more requests. Those in the queue can still be taken.
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
