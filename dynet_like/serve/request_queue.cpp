// The queue of a server.
#include "dynet_like/serve/request_queue.h"

#include <utility>

namespace dynet_like::serve {

Request::Request(std::string text, Clock::time_point deadline, Send send)
    : text_(std::move(text)), deadline_(deadline), send_(std::move(send)) {}

Request::~Request() { fail(); }

Request::Request(Request&& other) noexcept
    : text_(std::move(other.text_)),
      arrived_(other.arrived_),
      deadline_(other.deadline_),
      send_(std::exchange(other.send_, nullptr)) {}

Request& Request::operator=(Request&& other) noexcept {
  if (this == &other) return *this;
  fail();
  text_ = std::move(other.text_);
  arrived_ = other.arrived_;
  deadline_ = other.deadline_;
  send_ = std::exchange(other.send_, nullptr);
  return *this;
}

void Request::answer(Answer answer) {
  if (const Send send = std::exchange(send_, nullptr)) send(std::move(answer));
}

void Request::fail() {
  try {
    answer({500, "the server could not run the request"});
  } catch (...) {  // no memory even for that: the connection closes with its last handle
  }
}

std::optional<RequestQueue::Ticket> RequestQueue::push(Request& request) {
  const std::lock_guard lock(mutex_);
  if (is_closed_ || waiting_.size() >= length_) return std::nullopt;
  waiting_.emplace_hint(waiting_.end(), next_, std::move(request));
  changed_.notify_one();
  return next_++;
}

std::optional<Request> RequestQueue::pop(bool wait) {
  std::unique_lock lock(mutex_);
  if (wait) changed_.wait(lock, [&] { return is_closed_ || !waiting_.empty(); });
  if (waiting_.empty()) return std::nullopt;
  return std::move(waiting_.extract(waiting_.begin()).mapped());
}

std::optional<Request> RequestQueue::remove(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return std::nullopt;
  return std::move(waiting_.extract(found).mapped());
}

void RequestQueue::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

std::vector<Request> RequestQueue::take_all() {
  const std::lock_guard lock(mutex_);
  std::vector<Request> all;
  all.reserve(waiting_.size());
  for (auto& [ticket, request] : waiting_) all.push_back(std::move(request));
  waiting_.clear();
  return all;
}

std::size_t RequestQueue::size() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace dynet_like::serve
