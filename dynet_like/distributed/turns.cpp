// Turns: the bound on staleness, and rounds with backup ranks.
#include "dynet_like/distributed/turns.h"

#include <algorithm>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like {

void Relaxation::check(unsigned ranks) const {
  if (backup_ranks > 0 && backup_ranks >= ranks) {
    throw UsageError(fmt::format("[Relaxation] need fewer backup ranks than ranks; got {} of {}",
                                 backup_ranks, ranks));
  }
  if (backup_ranks == 0 && staleness < ranks - 1) {
    throw UsageError(fmt::format(
        "[Relaxation] need a staleness of {} or more, so that {} can work at once; got {}",
        ranks - 1, detail::counted(ranks, "rank"), staleness));
  }
}

namespace detail {

Turns::Turns(std::size_t first, std::size_t end, Relaxation relaxation, unsigned ranks)
    : relaxation_(relaxation),
      first_(first),
      next_(first),
      end_(end),
      given_(ranks),
      last_round_(ranks, 0) {
  relaxation_.check(ranks);
}

// Whether a gradient of the next minibatch would lack at most `staleness` updates. Minibatches that
// were handed out may finish between the time when a rank reads the parameters and the time of its
// update.
bool Turns::is_fresh_enough() const {
  std::size_t oldest = done_;
  for (const auto& given : given_) {
    if (given) oldest = std::min(oldest, given->done_before);
  }
  return next_ - first_ - oldest <= relaxation_.staleness;
}

// A round ends when the parameters have its gradients; then the next one begins.
bool Turns::joins_round(unsigned rank) {
  if (done_in_round_ == needed_) {
    ++round_;
    needed_ = static_cast<unsigned>(
        std::min<std::size_t>(given_.size() - relaxation_.backup_ranks, end_ - next_));
    begun_ = counted_ = done_in_round_ = 0;
  }
  if (last_round_[rank] == round_) return false;
  last_round_[rank] = round_;
  ++begun_;
  return true;
}

std::optional<Turns::Turn> Turns::give(unsigned rank) {
  if (is_over()) return {};
  const bool in_rounds = relaxation_.backup_ranks > 0;
  if (in_rounds ? !joins_round(rank) : !is_fresh_enough()) return {};
  const Turn turn = {next_++, round_, in_rounds ? needed_ : 1};
  given_[rank] = Given{turn, done_};
  return turn;
}

bool Turns::counts(unsigned rank) {
  const bool in_time =
      relaxation_.backup_ranks == 0 || (given_[rank]->turn.round == round_ && counted_ < needed_);
  if (in_time) {
    ++counted_;
  } else {
    ++dropped_;
    given_[rank].reset();
  }
  return in_time;
}

void Turns::done(unsigned rank) {
  given_[rank].reset();
  ++done_;
  ++done_in_round_;
}

void Turns::stop() {
  const bool is_open = relaxation_.backup_ranks > 0 && done_in_round_ < needed_;
  const std::size_t rest = is_open && begun_ < needed_ ? needed_ - begun_ : 0;
  end_ = std::min(end_, next_ + rest);
}

bool Turns::anyone_trains() const {
  return std::any_of(given_.begin(), given_.end(),
                     [](const auto& given) { return given.has_value(); });
}

std::optional<Turns::Turn> Turns::turn_of(unsigned rank) const {
  if (!given_[rank]) return {};
  return given_[rank]->turn;
}

}  // namespace detail

}  // namespace dynet_like
