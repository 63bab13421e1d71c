// The Communicator of a single process, and functions for all communicators.
#include "dynet_like/distributed/communicator.h"

#include <unistd.h>

#include <deque>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/text.h"

namespace dynet_like {

namespace {

class SingleProcess final : public Communicator {
 public:
  unsigned rank() const override { return 0; }
  unsigned size() const override { return 1; }
  std::string name(unsigned /*rank*/) const override {
    return fmt::format("rank 0 (process {})", ::getpid());
  }
  void begin(Round& /*round*/) override {}
  void end(Round& round) override {
    round.from.resize(1);
    round.from[0].assign(round.to[0].begin(), round.to[0].end());
  }
  void send(unsigned /*to*/, Bytes bytes) override { messages_.push_back(std::move(bytes)); }
  std::optional<Message> receive() override {
    if (messages_.empty()) return {};
    Message first = {0, std::move(messages_.front())};
    messages_.pop_front();
    return first;
  }
  bool is_sending() override { return false; }
  void fail(const std::string& /*why*/) override {}

 private:
  std::deque<Bytes> messages_;
};

}  // namespace

RankError::RankError(const std::string& what) : std::runtime_error(detail::visible_text(what)) {}

void Communicator::all_gather(std::span<const std::byte> mine, std::vector<Bytes>& all) {
  Round round = {std::vector(size(), mine), std::move(all)};
  begin(round);
  end(round);
  all = std::move(round.from);
}

std::shared_ptr<Communicator> single_process() { return std::make_shared<SingleProcess>(); }

void broadcast(Communicator& ranks, Communicator::Bytes& bytes) {
  if (ranks.size() == 1) return;
  std::vector<Communicator::Bytes> all;
  ranks.all_gather(
      ranks.rank() == 0 ? std::span<const std::byte>(bytes) : std::span<const std::byte>(), all);
  bytes = std::move(all[0]);
}

std::vector<std::string> gather_texts(Communicator& ranks, const std::string& mine) {
  std::vector<Communicator::Bytes> all;
  ranks.all_gather(std::as_bytes(std::span(mine)), all);
  std::vector<std::string> texts;
  for (const Communicator::Bytes& bytes : all) {
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

std::string names_of(const Communicator& ranks, const std::function<bool(unsigned)>& is_one) {
  std::string names;
  for (unsigned r = 0; r < ranks.size(); ++r) {
    if (is_one(r)) names += (names.empty() ? "" : ", ") + ranks.name(r);
  }
  return names;
}

void append_bytes(Communicator::Bytes& bytes, const void* data, std::size_t size) {
  const auto* const from = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), from, from + size);
}

}  // namespace dynet_like
