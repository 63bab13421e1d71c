// A policy that learns from rewards alone: REINFORCE (Williams 1992) in a T-maze (Bakker 2002).
//
// A sign at the beginning of a corridor tells how to turn at the crossing at its end. The policy
// sees only its current place, so it has to remember. A correct turn is worth 1, a wrong one -1,
// and walking into a wall -0.1. The policy's actions decide what it sees next: every step needs a
// value, and episodes have different lengths. Each episode is plain code; those of a minibatch wait
// for each other, and their steps run together.
//
// Expected: a mean return of at least 0.95 in 1,000 new episodes, after a few seconds. The bits do
// not depend on --threads.
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "dynet_like/core/option_number.h"
#include "examples/full/support/program.h"
#include "nn/nn.h"

using namespace dynet_like;

namespace {

enum Sight : unsigned { kSignLeft, kSignRight, kCorridor, kCrossing, kSights };
enum Action : unsigned { kTurnLeft, kTurnRight, kForward, kActions };  // turns are also signs
constexpr unsigned kLongest = 10, kMostSteps = 40, kHidden = 16, kBatch = 64, kUpdates = 200;

struct Maze {
  unsigned length, sign, place = 0;
  bool is_over = false;
  explicit Maze(Random& random) : length(1 + random.below(kLongest)), sign(random.below(2)) {}

  unsigned sight() const { return place == 0 ? sign : place < length ? kCorridor : kCrossing; }
  float act(unsigned action) {  // returns the reward
    const bool is_crossing = place == length;
    if ((action == kForward) == is_crossing) return -0.1f;  // a wall
    place += action == kForward;
    is_over = is_crossing;
    return !is_crossing ? 0.0f : action == sign ? 1.0f : -1.0f;
  }
};

struct Policy {
  ParameterCollection parameters;
  LookupParameter sights = parameters.add_lookup_parameters(kSights, {kHidden});
  nn::LSTM memory{parameters, kHidden, kHidden};
  nn::Linear output{parameters, kHidden, kActions};
};

unsigned draw(const Tensor& probabilities, Random& random) {
  double left = random.uniform();
  unsigned action = 0;
  while (action + 1 < probabilities.d.size() && left >= probabilities.v[action]) {
    left -= probabilities.v[action++];
  }
  return action;
}

struct Episode {
  float reward = 0;
  Expression surprise;  // -log of the probability of all actions
};

// It has random numbers of its own, so that it does not depend on other episodes.
Episode play(const Policy& policy, ComputationGraph& graph, Random random) {
  Maze maze(random);
  Episode episode;
  nn::LSTM::State state = policy.memory.start(graph);
  std::vector<Expression> surprises;
  for (unsigned step = 0; step < kMostSteps && !maze.is_over; ++step) {
    state = policy.memory.step(state, lookup(graph, policy.sights, maze.sight()));
    const Expression scores = policy.output(state.h);
    const unsigned action = draw(softmax(scores).value(), random);
    surprises.push_back(cross_entropy(scores, action));
    episode.reward += maze.act(action);
  }
  episode.surprise = sum(surprises);
  return episode;
}

float mean_return(const std::vector<Episode>& all) {
  const auto add = [](float sum, const Episode& episode) { return sum + episode.reward; };
  return std::accumulate(all.begin(), all.end(), 0.0f, add) / static_cast<float>(all.size());
}

void run(const GraphOptions& options) {
  Policy policy;
  AdamTrainer trainer(policy.parameters, 0.01f);
  Minibatch batch(options);
  const auto play_all = [&](unsigned count, std::uint64_t seed) {
    return for_each_sample(batch, count, [&](ComputationGraph& graph, std::size_t i) {
      return play(policy, graph, Random(seed, std::uint64_t{i} << 32));
    });
  };
  float baseline = 0;  // the expected return of an episode
  for (unsigned update = 1; update <= kUpdates; ++update, batch.clear()) {
    const std::vector<Episode> episodes = play_all(kBatch, update);
    for (const Episode& episode : episodes) {
      batch.add_loss(episode.surprise * ((episode.reward - baseline) / kBatch));
    }
    trainer.update(batch);
    baseline += 0.1f * (mean_return(episodes) - baseline);
    if (update % 50 == 0) std::printf("update %u: mean return %.3f\n", update, baseline);
  }
  std::printf("mean return %.3f in 1000 new episodes\n", mean_return(play_all(1000, 0)));
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program("reinforce", [&] {
    GraphOptions options;
    const bool has_threads = argc == 3 && std::strcmp(argv[1], "--threads") == 0;
    if (argc > 1 && !has_threads) throw UsageError("usage: reinforce [--threads N]");
    if (has_threads) {
      options.threads = static_cast<unsigned>(
          detail::option_number("threads", argv[2], detail::NumberKind::whole, {1, 256}));
    }
    run(options);
    return 0;
  });
}
