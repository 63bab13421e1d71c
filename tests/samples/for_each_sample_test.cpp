// for_each_sample: samples that ask for values on the way, with the bits of samples alone.
#include <stdexcept>

#include "dynet_like/graph/for_each_sample.h"
#include "tests/support/message_of.h"
#include "tests/support/modes.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"
#include "tests/support/walker.h"

namespace dynet_like::testing {
namespace {

TEST(ForEachSampleTest, HasTheBitsOfOneByOne) {
  const Walker walker;
  const auto record = [&](ComputationGraph& graph, unsigned sample) {
    const Walker::Path path = walker.walk(graph, sample);
    return Sample{path.loss, path.scores_of_steps};
  };
  for (const unsigned samples : {1u, 17u}) {
    Program program{walker.model, record, samples};
    program.asks = true;
    expect_same_in_all_modes(program);
  }
  Program many{walker.model, record, 257};
  many.asks = true;
  for (const unsigned threads : {1u, 3u}) {
    const Mode mode{{.threads = threads}, 0, Way::in_waves};
    EXPECT_TRUE(same_bits(run(many, mode), run(many)));
  }
  Minibatch batch;
  EXPECT_TRUE(for_each_sample(batch, 0, record).empty());
}

TEST(ForEachSampleTest, WaitsTogether) {
  const Walker walker;
  Minibatch together;
  for_each_sample(together, 32, [&](ComputationGraph& graph, std::size_t i) {
    walker.walk(graph, static_cast<unsigned>(i));
  });
  Minibatch alone;
  for (unsigned i = 0; i < 32; ++i) walker.walk(alone.new_graph(), i);
  EXPECT_EQ(together.explain().nodes, alone.explain().nodes);
  EXPECT_LT(together.explain().batches * 4, alone.explain().batches);
}

TEST(ForEachSampleTest, RefusesWhatMakesNoSense) {
  Minibatch batch;
  const auto nothing = [](ComputationGraph&, std::size_t) {};
  EXPECT_EQ(message_of<UsageError>([&] { for_each_sample(batch, -1, nothing); }),
            "[for_each_sample] need a count of samples; got -1");
  for (const std::size_t bytes : {0, 1, 4096, 65535}) {
    Minibatch small({.stack_bytes = bytes});
    EXPECT_THROW(for_each_sample(small, 1, nothing), UsageError) << bytes;
  }
  Minibatch small({.stack_bytes = 65536});
  const auto ask = [](ComputationGraph& graph, std::size_t) {
    return as_scalar((square(input(graph, 3.0f)) + 1.0f).value());
  };
  EXPECT_EQ(for_each_sample(small, 2, ask), std::vector<float>(2, 10.0f));
}

TEST(ForEachSampleTest, SamplesOfARange) {
  Minibatch batch;
  const std::vector<std::string> words = {"a", "bc", "def"};
  const std::vector<std::size_t> lengths = for_each_sample(
      batch, words, [](ComputationGraph&, const std::string& word) { return word.size(); });
  EXPECT_EQ(lengths, (std::vector<std::size_t>{1, 2, 3}));
  const std::vector<bool> is_long = for_each_sample(
      batch, words, [](ComputationGraph&, const std::string& word) { return word.size() > 1; });
  EXPECT_EQ(is_long, (std::vector<bool>{false, true, true}));
  EXPECT_EQ(batch.size(), 6u);
}

// What is made for a range must not be tried on numbers.
TEST(ForEachSampleTest, SamplesWhoseTypeIsDeduced) {
  Minibatch batch;
  const std::vector<std::string> words = {"a", "bc"};
  std::vector<float> lengths;
  for_each_sample(batch, words, [&](auto& graph, const auto& word) {
    lengths.push_back(as_scalar(input(graph, static_cast<float>(word.size())).value()));
  });
  EXPECT_EQ(lengths, (std::vector<float>{1, 2}));
}

TEST(ForEachSampleTest, AnExceptionEndsAllSamples) {
  for (unsigned threads : {1u, 2u, 4u}) {
    const GraphOptions options{.threads = threads};
    Minibatch batch(options);
    batch.new_graph();
    std::vector<int> destroyed(8, 0);
    struct Counts {
      int& count;
      ~Counts() { ++count; }
    };
    const auto run = [&] {
      for_each_sample(batch, 8, [&](ComputationGraph& graph, std::size_t i) {
        const Counts counts{destroyed[i]};
        for (unsigned step = 0;; ++step) {
          const Expression x = square(input(graph, static_cast<float>(step)));
          if (i == 5 && step == 3) zeros(graph, Dim({3})) + zeros(graph, Dim({4}));
          if (i == 6 && step == 3) throw std::runtime_error("mine");
          as_scalar(x.value());
        }
      });
    };
    const std::string text = message_of<ShapeError>(run);
    EXPECT_TRUE(text.ends_with(", in sample 6")) << text;
    EXPECT_EQ(destroyed, std::vector<int>(8, 1)) << threads;
    batch.clear();  // everything is as good as new
    const Walker walker;
    Minibatch fresh(options);
    const auto walk = [&](ComputationGraph& graph, std::size_t i) {
      return walker.walk(graph, static_cast<unsigned>(i)).actions;
    };
    EXPECT_EQ(for_each_sample(batch, 8, walk), for_each_sample(fresh, 8, walk));
  }
}

TEST(ForEachSampleTest, WhatCannotBeComputedFailsInItsSample) {
  Minibatch batch;
  const auto messages = for_each_sample(batch, 4, [](ComputationGraph& graph, std::size_t i) {
    const auto integer = static_cast<unsigned>(i * 2);
    const Expression x = pick(zeros(graph, Dim({5})), &integer);
    std::string text = message_of<UsageError>([&] { as_scalar(x.value()); });
    as_scalar(square(input(graph, 1.0f)).value());  // the sample may go on
    return text;
  });
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(messages[i] == "nothing was thrown", i < 3) << messages[i];
}

TEST(ForEachSampleTest, SamplesThatCatchEverythingEndAllTheSame) {
  Minibatch batch;
  int caught = 0;
  EXPECT_THROW(for_each_sample(batch, 2,
                               [&](ComputationGraph& graph, std::size_t i) {
                                 const Expression x = square(input(graph, 1.0f));
                                 for (int step = 0; step < 5; ++step) {
                                   try {
                                     as_scalar(square(x).value());
                                   } catch (...) {
                                     ++caught;
                                   }
                                   if (i == 0 && step == 1) throw std::runtime_error("mine");
                                 }
                               }),
               std::runtime_error);
  EXPECT_GT(caught, 0);
}

TEST(ForEachSampleTest, InsideNothingElseRuns) {
  Minibatch batch;
  ComputationGraph& before = batch.new_graph();
  const Expression old = square(input(before, 3.0f));
  ComputationGraph* first = nullptr;
  for_each_sample(batch, 2, [&](ComputationGraph& graph, std::size_t i) {
    if (i == 0) first = &graph;
    const Expression loss = square(input(graph, 2.0f));
    EXPECT_THROW(old.value(), UsageError);
    EXPECT_THROW(graph.backward(loss), UsageError);
    EXPECT_THROW(graph.invalidate(), UsageError);
    EXPECT_THROW(batch.new_graph(), UsageError);
    EXPECT_THROW(batch.add_loss(loss), UsageError);
    EXPECT_THROW(batch.forward(), UsageError);
    EXPECT_THROW(batch.clear(), UsageError);
    EXPECT_THROW(for_each_sample(batch, 1, [](ComputationGraph&, std::size_t) {}), UsageError);
    if (i == 1) {
      EXPECT_THROW(square(input(*first, 2.0f)).value(), UsageError);
    }
    EXPECT_EQ(as_scalar(loss.value()), 4.0f);
  });
  EXPECT_EQ(as_scalar(old.value()), 9.0f);
}

TEST(ForEachSampleTest, AnotherMinibatchInside) {
  const Walker walker;
  const auto walk = [&](ComputationGraph& graph, std::size_t i) {
    return walker.walk(graph, static_cast<unsigned>(i)).actions;
  };
  Minibatch alone, outer;
  const auto expected = for_each_sample(alone, 6, walk);
  for_each_sample(outer, 3, [&](ComputationGraph& graph, std::size_t) {
    const Expression x = square(input(graph, 2.0f));
    EXPECT_EQ(as_scalar(x.value()), 4.0f);
    Minibatch inner;
    EXPECT_EQ(for_each_sample(inner, 6, walk), expected);
    const Expression y = square(x);
    for_each_sample(inner, 1, [&](ComputationGraph&, std::size_t) {
      EXPECT_THROW(y.value(), UsageError);  // a value of the outer sample
    });
    EXPECT_EQ(as_scalar(y.value()), 16.0f);
  });
}

// In inference. Each round takes 20 MB.
TEST(ForEachSampleTest, MemoryOfEndedSamplesIsUsedAgain) {
  constexpr unsigned kSamples = 20, kSteps = 4, kSize = 1 << 16;
  const GraphOptions options{.inference = true};
  Minibatch batch(options);
  const auto walk = [](ComputationGraph& graph, std::size_t i) {
    Expression x = constant(graph, {kSize}, 0.1f * static_cast<float>(i));
    for (unsigned step = 0; step < kSteps; ++step) {
      x = tanh(x + 1.0f);
      as_vector(pick(x, step).value());
    }
    return x;
  };
  std::vector<Expression> first;
  for (int round = 0; round < 10; ++round) {
    const std::vector<Expression> last = for_each_sample(batch, kSamples, walk);
    if (first.empty()) first = last;
  }
  EXPECT_LT(batch.explain().value_bytes, std::uint64_t{4} * kSamples * kSteps * kSize * 4);
  // What is asked for all the same is computed again.
  Minibatch alone(options);
  EXPECT_EQ(as_vector(first[3].value()), as_vector(walk(alone.new_graph(), 3).value()));
}

TEST(ForEachSampleTest, ExplainsItsWaves) {
  Minibatch batch;
  for_each_sample(batch, 4, [](ComputationGraph& graph, std::size_t i) {
    Expression x = input(graph, 1.0f);
    for (std::size_t step = 0; step <= i; ++step) {
      x = tanh(x);
      x.value();
    }
  });
  const Report report = batch.explain();
  ASSERT_EQ(report.waves.size(), 4u);
  EXPECT_EQ(report.wave_count, 4u);
  for (std::size_t wave = 0; wave < 4; ++wave) {
    EXPECT_EQ(report.waves[wave].samples, 4 - wave);
    EXPECT_EQ(report.waves[wave].nodes, 4 - wave);
    EXPECT_EQ(report.waves[wave].batches, 1u);
  }
  std::ostringstream text;
  text << report;
  EXPECT_TRUE(mentions(text.str(),
                       "4 waves of samples that waited for values; on average 2.5 samples, "
                       "2.5 nodes, 1.0 batches"));
  batch.clear();
  EXPECT_TRUE(batch.explain().waves.empty());
}

// As many values at once as the sample has beams, in each of three waves.
TEST(ForEachSampleTest, SeveralValuesInOneWave) {
  const Walker walker;
  for (unsigned threads : {1u, 3u}) {
    Minibatch batch({.threads = threads});
    for_each_sample(batch, 9, [&](ComputationGraph& graph, std::size_t sample) {
      std::vector<Expression> states;
      for (unsigned beam = 0; beam < sample % 4; ++beam) {
        states.push_back(lookup(graph, walker.E, beam));
      }
      for (unsigned step = 0; step < 3; ++step) {
        for (Expression& state : states) state = tanh(parameter(graph, walker.W) * state);
        values_of(states);
      }
    });
    std::uint64_t products = 0;
    for (const Report::Type& type : batch.explain().types) {
      if (type.op == "matrix_product") products += type.batches;
    }
    EXPECT_EQ(products, 3u);  // of three waves; were there one for every value, there were nine
  }
}

TEST(ForEachSampleTest, SeveralValuesOutside) {
  ComputationGraph graph, other;
  EXPECT_TRUE(values_of({}).empty());
  const Expression x = input(graph, 3.0f), y = square(x), z = x + 1.0f;
  const std::vector<Tensor> values = values_of({z, y, z});
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(as_scalar(values[0]), 4.0f);
  EXPECT_EQ(as_scalar(values[1]), 9.0f);
  EXPECT_EQ(as_scalar(values[2]), 4.0f);
  EXPECT_THROW(values_of({x, input(other, 1.0f)}), UsageError);
  EXPECT_THROW(values_of({Expression()}), StateError);

  Minibatch batch;
  const Expression a = square(input(batch.new_graph(), 2.0f));
  EXPECT_EQ(as_scalar(values_of({a, a + 1.0f})[1]), 5.0f);
}

// What cannot be computed fails the whole question of its sample, and of no other.
TEST(ForEachSampleTest, OneOfSeveralValuesCannotBeComputed) {
  Minibatch batch;
  const auto sums = for_each_sample(batch, 3, [](ComputationGraph& graph, std::size_t i) {
    const auto integer = static_cast<unsigned>(i * 3);
    const Expression x = square(input(graph, 2.0f));
    const Expression picked = pick(zeros(graph, Dim({5})), &integer);
    try {
      const std::vector<Tensor> values = values_of({x, picked});
      return as_scalar(values[0]) + as_scalar(values[1]);
    } catch (const UsageError&) {
      return as_scalar(x.value()) - 1;
    }
  });
  EXPECT_EQ(sums, (std::vector<float>{4, 4, 3}));
}

#ifdef DYNET_LIKE_TSAN
constexpr std::size_t kMany = 500;  // it knows some 8,000 threads, and takes every fiber for one
#else
constexpr std::size_t kMany = 10'000;
#endif

// More than the system allows stacks: refused with advice, and the minibatch is as good as new.
TEST(ForEachSampleTest, MoreSamplesThanThereCanBeStacks) {
  if (kMany < 10'000) GTEST_SKIP() << "the thread sanitizer knows too few fibers";
  Minibatch batch({.inference = true, .stack_bytes = std::size_t{64} << 10});
  const auto add_one = [](ComputationGraph& graph, std::size_t i) {
    return as_scalar((input(graph, static_cast<float>(i)) + 1.0f).value());
  };
  std::string refusal;
  try {
    EXPECT_EQ(for_each_sample(batch, 100'000, add_one)[99'999], 100'000.0f);
  } catch (const DeviceError& error) {
    refusal = error.what();
    EXPECT_TRUE(mentions(refusal, "vm.max_map_count"));
  }
  for (int i = 0; i < 2; ++i) {
    batch.clear();
    EXPECT_EQ(for_each_sample(batch, 10, add_one)[9], 10.0f);
  }
}

TEST(ForEachSampleTest, ThousandsOfSamples) {
  Minibatch batch;
  const auto results = for_each_sample(batch, kMany, [](ComputationGraph& graph, std::size_t i) {
    const Expression x = input(graph, static_cast<float>(i));
    const float first = as_scalar((x + 1.0f).value());
    return as_scalar((x + first).value());
  });
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i], 2 * static_cast<float>(i) + 1) << i;
  }
}

TEST(ForEachSampleTest, ValuesThatAreThereAlready) {
  Minibatch batch;
  for_each_sample(batch, 3, [](ComputationGraph& graph, std::size_t i) {
    const Expression x = input(graph, static_cast<float>(i)), y = square(x);
    EXPECT_EQ(as_scalar(y.value()), static_cast<float>(i * i));
    EXPECT_EQ(as_scalar(y.value()), static_cast<float>(i * i));
    EXPECT_EQ(as_scalar(x.value()), static_cast<float>(i));
  });
}

}  // namespace
}  // namespace dynet_like::testing
