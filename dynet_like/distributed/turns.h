// Turns: which rank trains on which minibatch, if ranks do not wait for all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace dynet_like {

/// How far ranks may drift apart.
struct Relaxation {
  static constexpr unsigned kUnbounded = std::numeric_limits<unsigned>::max();

  /// A gradient may be computed from parameters that lack up to so many updates; kUnbounded: any
  /// number. It must be at least the number of ranks minus 1, so that all ranks can work at once.
  unsigned staleness = kUnbounded;
  /// If above 0, the ranks train in rounds instead. An update is the sum of the first gradients
  /// that arrive, from all ranks except so many; later ones are dropped (Chen et al. 2016,
  /// "Revisiting Distributed Synchronous SGD").
  unsigned backup_ranks = 0;

  /// Throws UsageError if the staleness is too small, or if all ranks are backups.
  void check(unsigned ranks) const;
};

namespace detail {

/// Hands out minibatches in order.
class Turns {
 public:
  struct Turn {
    std::size_t minibatch = 0;
    std::uint64_t round = 0;
    unsigned needed = 1;  ///< number of gradients in an update
  };

  Turns(std::size_t first, std::size_t end, Relaxation relaxation, unsigned ranks);

  /// A turn for a rank that has none. Nothing if it must wait, or if there are no more minibatches.
  std::optional<Turn> give(unsigned rank);
  /// Whether the gradient of the rank's turn counts. If not, its turn ends. Ask once per turn.
  bool counts(unsigned rank);
  /// The parameters have the gradient: ends the rank's turn.
  void done(unsigned rank);
  /// From now on hands out only what the current round needs.
  void stop();

  bool is_over() const { return next_ == end_; }
  bool anyone_trains() const;
  std::size_t next() const { return next_; }
  std::size_t dropped() const { return dropped_; }
  std::optional<Turn> turn_of(unsigned rank) const;

 private:
  struct Given {
    Turn turn;
    std::size_t done_before = 0;  ///< how many gradients the parameters had then
  };

  bool is_fresh_enough() const;
  bool joins_round(unsigned rank);

  Relaxation relaxation_;
  std::size_t first_, next_, end_, done_ = 0, dropped_ = 0;
  std::vector<std::optional<Given>> given_;  ///< by rank
  // With backup ranks: the current round.
  std::uint64_t round_ = 0;
  unsigned needed_ = 0, begun_ = 0, counted_ = 0, done_in_round_ = 0;
  std::vector<std::uint64_t> last_round_;  ///< by rank
};

}  // namespace detail

}  // namespace dynet_like
