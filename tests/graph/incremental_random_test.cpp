// Random calls on one minibatch give the bits of a new one that computes everything at once.
#include <gtest/gtest.h>

#include "dynet_like/tape/tape.h"
#include "tests/support/modes.h"
#include "tests/support/random_chains.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

// What was recorded on a sample, so that it can be recorded again.
struct Piece {
  std::uint64_t seed;
  unsigned nodes;        // up to its end
  std::uint64_t chains;  // of which program; 0: a random graph
  bool dropout;
};

struct Recorded {
  std::vector<Piece> pieces;
  RandomGraph graph;

  void record(ComputationGraph& on, const RandomModel& model, const Piece& piece) {
    if (piece.chains == 0) {
      RandomGraphOptions options;
      options.nodes = piece.nodes;
      options.dropout = piece.dropout;
      graph = record_random_graph(on, model, piece.seed, options, graph);
    } else {
      RandomChainsOptions options;
      options.steps = 1 + piece.chains % 3;
      options.regular = piece.chains % 4 < 2;
      options.calls = 8;
      options.noise = piece.chains % 2 == 1;
      options.dropout = piece.dropout;
      graph = record_random_chains(on, model, piece.chains, piece.seed, options, graph);
    }
    pieces.push_back(piece);
  }
};

struct Place {
  unsigned sample;
  std::size_t index;  // of Sample::graph.all

  const Expression& in(const std::vector<Recorded>& samples) const {
    return samples[sample].graph.all[index];
  }
};

// A minibatch, and all that is needed to make another one like it.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed, std::uint64_t chains = 0)
      : random_(seed), chains_(chains), batch_(choose_options()) {}

  // Every other one is like a parser: it tries small things, and takes them back.
  void run() {
    for (unsigned i = 0; i < 30 && !::testing::Test::HasFatalFailure(); ++i) {
      unsigned kind = samples_.size() < 2 ? 0 : parses_ ? 2 + random_.below(10) : random_.below(19);
      if (parses_ && kind == 11) kind = 17;
      SCOPED_TRACE("call " + std::to_string(i) + " of kind " + std::to_string(kind));
      call(kind);
    }
    if (!samples_.empty() && !::testing::Test::HasFatalFailure()) forward();
  }

 private:
  GraphOptions choose_options() {
    GraphOptions options{.policy = static_cast<batching::Policy>(random_.below(5)),
                         .threads = 1 + random_.below(3)};
    options.inference = inference_ = random_.below(2) == 0;
    if (random_.below(2) == 0 && (chains_ == 0 || random_.below(4) == 0)) {
      options.memory_limit = 5000 + random_.below(200000);
    }
    return options;
  }

  void call(unsigned kind) {
    if (kind < 2) return new_sample();
    const unsigned s = random_.below(static_cast<unsigned>(samples_.size()));
    if (kind < 4) return record(s);
    if (kind == 4) return checkpoint(s);
    if (kind < 8) return revert(s);
    if (kind < 10) return compute();
    if (kind == 10) return add_loss(s);
    if (kind == 11) return add_output();
    if (kind == 12) return change_parameters();
    if (kind == 13) return batch_.graph(s).invalidate();
    if (kind == 14 && random_.below(3) == 0) return clear();
    if (kind > 16) return forget(s);
    return forward();
  }

  void new_sample() {
    samples_.emplace_back();
    checkpoints_.emplace_back();
    batch_.new_graph();
    record(static_cast<unsigned>(samples_.size() - 1));
  }
  void record(unsigned s) {
    ComputationGraph& graph = batch_.graph(s);
    const auto nodes = static_cast<unsigned>(graph.size()) + 5 + random_.below(parses_ ? 10 : 80);
    samples_[s].record(graph, model_, {random_(), nodes, chains_, !inference_});
  }
  void add_loss(unsigned s) {
    losses_.push_back({s, samples_[s].graph.all.size() - 1});
    batch_.add_loss(losses_.back().in(samples_));
    EXPECT_THROW(batch_.backward(), UsageError) << "the loss has no value";
  }
  void add_output() {
    outputs_.push_back(any());
    batch_.add_output(outputs_.back().in(samples_));
  }
  void checkpoint(unsigned s) {
    checkpoints_[s].push_back(samples_[s]);
    batch_.graph(s).checkpoint();
    record(s);
  }
  // Losses and outputs must stay.
  void revert(unsigned s) {
    if (checkpoints_[s].empty()) return;
    const std::size_t kept = checkpoints_[s].back().graph.all.size();
    for (const auto& stay : {losses_, outputs_}) {
      for (Place place : stay) {
        if (place.sample == s && place.index >= kept) return;
      }
    }
    batch_.graph(s).revert();
    samples_[s] = checkpoints_[s].back();
    checkpoints_[s].pop_back();
  }
  // Values of some nodes that follow one another: what is asked for again is computed again.
  void forget(unsigned s) {
    ComputationGraph& graph = batch_.graph(s);
    const auto nodes = static_cast<unsigned>(graph.size());
    const unsigned first = random_.below(nodes);
    graph.forget_values(first, first + random_.below(random_.below(2) == 0 ? 4 : nodes));
    compute();
  }
  void clear() {
    batch_.clear();
    samples_.clear();
    checkpoints_.clear();
    losses_.clear();
    outputs_.clear();
  }

  // Values are asked for after the next call that computes: others may be from before.
  void change_parameters() {
    const Parameter changed = model_.parameters[random_.below(6)];
    const unsigned how = random_.below(4);
    if (how == 0) changed.scale(0.9f);
    if (how == 1) changed.values().v[0] += 0.1f;
    if (how == 2)
      model_.table7.initialize(3,
                               std::vector<float>(7, 0.1f * static_cast<float>(random_.below(9))));
    if (how == 3 && !inference_ && !losses_.empty()) {
      forward();
      Gradients gradients;  // of one's own, or losses could not be added to those there are
      batch_.backward(gradients);
      trainer_.update(gradients);
    }
    return random_.below(2) == 0 ? compute() : forward();
  }
  void compute() {
    std::vector<Expression> expressions;
    std::vector<Place> places;
    for (unsigned i = 0; i < 1 + random_.below(6); ++i) {
      places.push_back(any());
      expressions.push_back(places.back().in(samples_));
    }
    batch_.compute(expressions);
    const auto want = another();
    for (const Place& place : places) expect_value(place, *want);
  }
  void forward() {
    const float total = batch_.forward();
    const auto want = another();
    ASSERT_TRUE(same_bits(Numbers{total}, Numbers{want->batch.forward()})) << "total";
    for (const Place& place : losses_) expect_value(place, *want);
    for (const Place& place : outputs_) expect_value(place, *want);
    if (!inference_ && !losses_.empty() && random_.below(2) == 0) backward(*want);
    if (random_.below(3) == 0) {
      for (unsigned s = 0; s < samples_.size(); ++s) {
        for (std::size_t i = 0; i < samples_[s].graph.all.size(); ++i) expect_value({s, i}, *want);
      }
    }
  }

  // The same records with default options.
  struct Other {
    Minibatch batch;
    std::vector<Recorded> samples;
  };
  std::unique_ptr<Other> another() {
    std::unique_ptr<Other> other(new Other);
    std::vector<std::uint64_t> seeds;
    for (std::uint32_t s = 0; s < samples_.size(); ++s) {
      seeds.push_back(*batch_.graph(s).record().tape().random.seed);
    }
    other->batch.seed_samples(seeds);
    for (const Recorded& sample : samples_) {
      ComputationGraph& graph = other->batch.new_graph();
      Recorded& copy = other->samples.emplace_back();
      for (const Piece& piece : sample.pieces) copy.record(graph, model_, piece);
    }
    for (const Place& place : losses_) other->batch.add_loss(place.in(other->samples));
    return other;
  }

  void backward(Other& want) {
    if (random_.below(3) == 0) compute();
    if (random_.below(8) == 0) batch_.graph(0).invalidate();
    Gradients mine;
    const bool own = random_.below(2) == 0;
    if (own) batch_.backward(mine);
    const Gradients& gradients = own ? mine : batch_.backward();
    const Numbers got = numbers_of(model_.collection, gradients);
    const Numbers expected = numbers_of(model_.collection, want.batch.backward());
    const bool in_parts = batch_.parts() > 1;
    // A GPU adds up many addends in chunks, and these begin anew in every part.
    ASSERT_TRUE(in_parts && !default_device()->is_cpu() ? near(got, expected)
                                                        : same_bits(got, expected));
    if (in_parts) return;
    for (unsigned i = 0; i < 20; ++i) {
      const Place place = any();
      // What follows from parameters alone has one gradient for all samples.
      if (place.in(samples_).pg->record().tape().value(place.in(samples_).i).identity != 0)
        continue;
      ASSERT_TRUE(same_bits(as_doubles(place.in(samples_).gradient()),
                            as_doubles(place.in(want.samples).gradient())));
    }
  }

  Place any() {
    const unsigned s = random_.below(static_cast<unsigned>(samples_.size()));
    return {s, random_.below(static_cast<unsigned>(samples_[s].graph.all.size()))};
  }
  void expect_value(Place place, const Other& want) {
    ASSERT_TRUE(same_bits(as_doubles(place.in(samples_).value()),
                          as_doubles(place.in(want.samples).value())))
        << "value " << place.index << " of sample " << place.sample;
  }

  Random random_;
  std::uint64_t chains_;
  bool inference_ = false, parses_ = random_.below(2) == 0;
  RandomModel model_;
  MomentumSGDTrainer trainer_{model_.collection};
  Minibatch batch_;
  std::vector<Recorded> samples_;
  std::vector<std::vector<Recorded>> checkpoints_;  // by sample
  std::vector<Place> losses_, outputs_;
};

std::uint64_t seeds() { return runs_slowly() ? 100 : 600; }

TEST(IncrementalRandom, HasTheBitsOfOnePass) {
  for (std::uint64_t seed = 0; seed < seeds() && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Sequence(seed).run();
  }
}

TEST(IncrementalRandom, HasTheBitsOfOnePassOfChains) {
  for (std::uint64_t seed = 0; seed < seeds() && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Sequence(seed, 1 + seed).run();
  }
}

}  // namespace
}  // namespace dynet_like::testing
