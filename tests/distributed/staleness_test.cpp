// How stale gradients were, as all ranks report it at the end.
#include <cstring>

#include "dynet_like/distributed/parameter_server.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Ranks = std::shared_ptr<Communicator>;

/// Ranks of which one tells the others that gradients were older than they were.
class Older final : public Communicator {
 public:
  Older(Ranks ranks, std::uint64_t by) : ranks_(std::move(ranks)), by_(by) {}

  /// From now on it does.
  void begin_to_tell() { tells_ = true; }

  unsigned rank() const override { return ranks_->rank(); }
  unsigned size() const override { return ranks_->size(); }
  std::chrono::duration<double> time_limit() const override { return ranks_->time_limit(); }
  std::string name(unsigned rank) const override { return ranks_->name(rank); }
  void begin(Round& round) override {
    for (std::span<const std::byte>& to : round.to) {
      if (!tells_ || to.size() != sizeof(staleness_)) continue;
      std::memcpy(staleness_, to.data(), sizeof(staleness_));
      staleness_[0] += by_;
      to = std::as_bytes(std::span(staleness_));
    }
    ranks_->begin(round);
  }
  void end(Round& round) override { ranks_->end(round); }
  void progress() override { ranks_->progress(); }
  void send(unsigned to, Bytes bytes) override { ranks_->send(to, std::move(bytes)); }
  std::optional<Message> receive() override { return ranks_->receive(); }
  bool is_sending() override { return ranks_->is_sending(); }
  void fail(const std::string& why) override { ranks_->fail(why); }

 private:
  Ranks ranks_;
  std::uint64_t by_;
  bool tells_ = false;
  std::uint64_t staleness_[3];  // the largest, the sum, and the number of updates
};

TEST(StalenessTest, TheLargestIsThatOfAnyRank) {
  constexpr std::uint64_t kMuch = 1000;
  for (const unsigned oldest : {0u, 1u, 2u}) {
    run_ranks(3, [&](const Ranks& ranks) {
      ParameterCollection model;
      const Parameter w = model.add_parameters({3}, ParameterInitConst(1), "w");
      SimpleSGDTrainer trainer(model, 0.5f);
      const auto telling = std::make_shared<Older>(ranks, ranks->rank() == oldest ? kMuch : 0);
      ParameterServer server(telling, trainer, {.staleness = 2}, 0, 6);
      while (server.next()) {
        Gradients ones;
        std::fill_n(static_cast<float*>(ones.dense(*w.p)), 3, 1.0f);
        server.push(std::move(ones), 0.125f, 0, 1);
      }
      telling->begin_to_tell();
      EXPECT_GE(server.finish().most_staleness, kMuch) << oldest;
    });
  }
}

}  // namespace
}  // namespace dynet_like
