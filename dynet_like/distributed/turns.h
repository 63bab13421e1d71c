// Turns: which rank may train on which minibatch, where ranks do not wait for all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace dynet_like {

/// How far ranks may run apart.
struct Relaxation {
  static constexpr unsigned kUnbounded = std::numeric_limits<unsigned>::max();

  /// A gradient may be of parameters that lack so many updates; kUnbounded: any number. It must be
  /// at least the number of ranks less one, for all to have something to do.
  unsigned staleness = kUnbounded;
  /// Above 0, the ranks train in rounds instead: an update is the sum of the first gradients, of
  /// all ranks but so many, and what comes later is dropped (Chen et al. 2016, "Revisiting
  /// Distributed Synchronous SGD").
  unsigned backup_ranks = 0;

  /// Throws UsageError for a staleness that is too small, and unless some rank is no backup.
  void check(unsigned ranks) const;
};

namespace detail {

/// Gives out minibatches in their order.
class Turns {
 public:
  struct Turn {
    std::size_t minibatch = 0;
    std::uint64_t round = 0;
    unsigned needed = 1;  ///< gradients of an update
  };

  Turns(std::size_t first, std::size_t end, Relaxation relaxation, unsigned ranks);

  /// A turn for a rank that has none, or nothing if it must wait, or if all is over.
  std::optional<Turn> give(unsigned rank);
  /// Whether the gradient of its turn counts; if not, its turn is over. Asked once per turn.
  bool counts(unsigned rank);
  /// The gradient is in the parameters: its turn is over.
  void done(unsigned rank);
  /// Gives only what the present round needs.
  void stop();

  bool is_over() const { return next_ == end_; }
  bool anyone_trains() const;
  std::size_t next() const { return next_; }
  std::size_t dropped() const { return dropped_; }
  std::optional<Turn> turn_of(unsigned rank) const;

 private:
  struct Given {
    Turn turn;
    std::size_t done_before = 0;  ///< how many gradients were in the parameters when it was given
  };

  bool is_fresh_enough() const;
  bool joins_round(unsigned rank);

  Relaxation relaxation_;
  std::size_t first_, next_, end_, done_ = 0, dropped_ = 0;
  std::vector<std::optional<Given>> given_;  ///< by rank
  // With backup ranks: the present round.
  std::uint64_t round_ = 0;
  unsigned needed_ = 0, begun_ = 0, counted_ = 0, done_in_round_ = 0;
  std::vector<std::uint64_t> last_round_;  ///< by rank
};

}  // namespace detail

}  // namespace dynet_like
