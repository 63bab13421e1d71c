// Communicator: the processes that train together, as each of them sees them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace dynet_like {

/// Another process of a run is gone, hangs, or says that it has failed.
struct RankError : std::runtime_error {
  explicit RankError(const std::string& what);
};

/// Ranks from 0 to size() - 1 that exchange bytes. All ranks make the same calls in the same order;
/// one thread of a process makes them. Bytes are of machines of one kind: nothing is converted.
class Communicator {
 public:
  using Bytes = std::vector<std::byte>;
  struct Message {
    unsigned from = 0;
    Bytes bytes;
  };
  /// What goes to each rank, and what has come from it; both have size() entries.
  struct Round {
    std::vector<std::span<const std::byte>> to;
    std::vector<Bytes> from;  ///< keeps its memory
  };
  /// Seconds that went by in calls so far: until the last rank had come, and from then on.
  struct Times {
    double waiting = 0, transfer = 0;
  };

  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;
  /// How long a rank waits for others.
  virtual std::chrono::duration<double> time_limit() const { return std::chrono::minutes(10); }
  /// For people: "rank 1 (process 4711 on node2)".
  virtual std::string name(unsigned rank) const = 0;

  /// Begins to send to[r] to each rank r, and returns; several rounds may be on their way. The
  /// round and the memory of `to` must stay as they are until its end. Bytes move in calls alone.
  virtual void begin(Round& round) = 0;
  /// Ends the first of the rounds that have begun: from[r] becomes what rank r has sent to this
  /// one. Throws RankError if a rank does not come within the time limit, is gone or has called
  /// fail(): then no call will work any more.
  virtual void end(Round& round) = 0;
  /// Lets bytes of rounds move, and returns at once.
  virtual void progress() {}
  /// A round that sends the same bytes to all ranks. Rounds that began before must have ended.
  void all_gather(std::span<const std::byte> mine, std::vector<Bytes>& all);

  /// Messages from one rank to another, which may be itself; those of a pair arrive in their order.
  /// Both return at once, and bytes move only within calls. Another thread than the one that makes
  /// the calls above may make these, while no other call is made.
  virtual void send(unsigned to, Bytes bytes) = 0;
  virtual std::optional<Message> receive() = 0;
  /// Whether something that was sent has not been handed over.
  virtual bool is_sending() = 0;

  /// Ends all ranks, for one that cannot go on. With MPI it does not return.
  virtual void fail(const std::string& why) = 0;
  /// While `asks()` is true, a call waits a third of a second for others, and no longer: so that a
  /// process that was asked to end can still save. Nothing: never. `asks` must not throw.
  virtual void give_up_when(std::function<bool()> /*asks*/) {}

  const Times& times() const { return times_; }

 protected:
  Times times_;
};

/// One rank: this process alone.
std::shared_ptr<Communicator> single_process();

/// What rank 0 has, on all ranks.
void broadcast(Communicator& ranks, Communicator::Bytes& bytes);

/// Texts of all ranks, by rank.
std::vector<std::string> gather_texts(Communicator& ranks, const std::string& mine);

/// The names of some ranks, for messages: of those for which `is_one(rank)`.
std::string names_of(const Communicator& ranks, const std::function<bool(unsigned)>& is_one);

/// Puts `size` bytes at the end.
void append_bytes(Communicator::Bytes& bytes, const void* data, std::size_t size);

}  // namespace dynet_like
