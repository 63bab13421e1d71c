// Communicator: connects the processes that train together.
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

/// Another process of a run has ended, hangs, or has reported a failure.
struct RankError : std::runtime_error {
  explicit RankError(const std::string& what);
};

/// Ranks from 0 to size() - 1 that exchange bytes. All ranks must make the same calls in the same
/// order, each rank in one thread. Bytes are not converted, so all machines must represent numbers
/// alike.
class Communicator {
 public:
  using Bytes = std::vector<std::byte>;
  struct Message {
    unsigned from = 0;
    Bytes bytes;
  };
  /// The bytes that go to each rank, and that came from it; both have size() entries.
  struct Round {
    std::vector<std::span<const std::byte>> to;
    std::vector<Bytes> from;  ///< reuses its memory
  };
  /// Seconds spent in calls so far: until the last rank had begun to send, and after that.
  struct Times {
    double waiting = 0, transfer = 0;
  };

  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;
  /// How long a rank waits for the others.
  virtual std::chrono::duration<double> time_limit() const { return std::chrono::minutes(10); }
  /// A name for messages: "rank 1 (process 4711 on node2)".
  virtual std::string name(unsigned rank) const = 0;

  /// Begins to send to[r] to each rank r, and returns; several rounds may be open. Until its end,
  /// leave the round and the memory of `to` unchanged. Bytes are transferred only during calls.
  virtual void begin(Round& round) = 0;
  /// Ends the oldest open round: from[r] becomes the bytes that rank r has sent to this one. Throws
  /// RankError if a rank does not answer within the time limit, has ended, or has called fail().
  /// After that, every call fails.
  virtual void end(Round& round) = 0;
  /// Transfers bytes of open rounds, and returns at once.
  virtual void progress() {}
  /// A round that sends the same bytes to all ranks. All earlier rounds must have ended.
  void all_gather(std::span<const std::byte> mine, std::vector<Bytes>& all);

  /// Messages from one rank to another or to itself; messages of a pair arrive in order. Both calls
  /// return at once, and bytes are transferred only during calls. A thread other than the one of
  /// the calls above may make these, as long as no other call runs at the same time.
  virtual void send(unsigned to, Bytes bytes) = 0;
  virtual std::optional<Message> receive() = 0;
  /// Whether some sent message has not been handed over yet.
  virtual bool is_sending() = 0;

  /// Ends all ranks, when this one cannot continue. With MPI it does not return.
  virtual void fail(const std::string& why) = 0;
  /// While `asks()` is true, a call waits for other ranks for 0.2 seconds at most: so a process
  /// that was asked to end can still save. An empty function: never. `asks` must not throw.
  virtual void give_up_when(std::function<bool()> /*asks*/) {}

  const Times& times() const { return times_; }

 protected:
  Times times_;
};

/// This process as the only rank.
std::shared_ptr<Communicator> single_process();

/// Gives all ranks the bytes of rank 0.
void broadcast(Communicator& ranks, Communicator::Bytes& bytes);

/// The texts of all ranks, by rank.
std::vector<std::string> gather_texts(Communicator& ranks, const std::string& mine);

/// For messages: the names of the ranks for which `is_one(rank)`.
std::string names_of(const Communicator& ranks, const std::function<bool(unsigned)>& is_one);

/// Appends `size` bytes.
void append_bytes(Communicator::Bytes& bytes, const void* data, std::size_t size);

}  // namespace dynet_like
