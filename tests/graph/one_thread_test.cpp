// A second thread in a graph or minibatch is told so; what the first does stays whole.
#include <atomic>
#include <thread>

#include "dynet_like/core/sanitizer.h"
#include "dynet_like/graph/graphviz.h"
#include "dynet_like/tape/tape.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

// A place at which one thread stays until another has done its work.
class Gate {
 public:
  void stay() {
    inside_ = true;
    while (!open_) std::this_thread::yield();
  }
  void wait_for_inside() const {
    while (!inside_) std::this_thread::yield();
  }
  void open() { open_ = true; }

 private:
  std::atomic<bool> inside_ = false, open_ = false;
};

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

class OneThreadTest : public ::testing::Test {
 protected:
  OneThreadTest() { minibatch_.add_loss(dot_product(w_here_, x_)); }

  // Another thread runs backward, and stays in the callback for the gradient meanwhile.
  void while_it_runs(const std::function<void()>& meanwhile) {
    Gate gate;
    minibatch_.forward();
    Gradients gradients;
    std::thread other([&] {
      minibatch_.backward(std::vector{1u}, std::span(&gradients, 1),
                          [&](const ParameterStorage&) { gate.stay(); });
    });
    gate.wait_for_inside();
    meanwhile();
    gate.open();
    other.join();
    EXPECT_EQ(gradients.values(w_), std::vector<float>{3});
  }

  const std::vector<std::function<void()>> all_uses();

  ParameterCollection model_{1};
  Parameter w_ = model_.add_parameters({1});
  Minibatch minibatch_;
  ComputationGraph& graph_ = minibatch_.new_graph();
  Expression x_ = input(graph_, {1}, {3}), w_here_ = parameter(graph_, w_), unread_ = exp(x_);
  Recursion<Expression> steps_ = recursion<Expression>(
      [](const Expression& x, const std::vector<Expression>&) { return tanh(x); });
  States<Expression> all_steps_ = steps_(Structure::sequence(1), x_);
};

TEST_F(OneThreadTest, WhatRunsIsNotDisturbed) {
  while_it_runs([&] {
    for (const std::function<void()>& use : all_uses()) {
      EXPECT_TRUE(mentions(error_of(use), "one thread at a time"));
    }
  });
  EXPECT_EQ(as_scalar(square(x_).value()), 9.0f);
  minibatch_.clear();
  EXPECT_EQ(minibatch_.size(), 0u);
}

TEST_F(OneThreadTest, OtherMinibatchesGoOn) {
  while_it_runs([&] {
    Minibatch other;
    ComputationGraph& graph = other.new_graph();
    other.add_loss(dot_product(parameter(graph, w_), input(graph, {1}, {2})));
    other.forward();
    EXPECT_EQ(other.backward().values(w_), std::vector<float>{2});
  });
}

// What any thread may be refused, by what it does.
const std::vector<std::function<void()>> OneThreadTest::all_uses() {
  return {[&] { tanh(x_); },
          [&] { x_ + x_; },
          [&] { input(graph_, {1}, {1}); },
          [&] { parameter(graph_, w_); },
          [&] {
            reshape(x_, {1, 1});
          },
          [&] { pick(x_, 0u); },
          [&] { nobackprop(w_here_); },
          [&] { attention(x_, x_, x_); },
          [&] { attention_weights(x_, x_, 1); },
          [&] {
            logsumexp({x_, x_});
          },
          [&] { steps_(Structure::sequence(1), x_); },
          [&] { all_steps_.last(); },
          [&] { std::ostringstream() << x_; },
          [&] {
            std::ostringstream out;
            write_graphviz(out, graph_);
          },
          [&] { Expression(&graph_, x_.i); },
          [&] { x_.dim(); },
          [&] { x_.label("x"); },
          [&] { unread_.value(); },
          [&] { x_.value(); },
          [&] { values_of({x_}); },
          [&] { graph_.backward(x_); },
          [&] { graph_.checkpoint(); },
          [&] { graph_.revert(); },
          [&] { graph_.invalidate(); },
          [&] { graph_.forget_values(0, 1); },
          [&] { graph_.explain(); },
          [&] { minibatch_.new_graph(); },
          [&] { minibatch_.graph(0); },
          [&] { minibatch_.add_loss(x_); },
          [&] { minibatch_.add_output(x_); },
          [&] { minibatch_.add_losses(1, [&](ComputationGraph&, std::size_t) { return x_; }); },
          [&] { minibatch_.forward(); },
          [&] { minibatch_.loss(); },
          [&] { minibatch_.compute({x_}); },
          [&] { minibatch_.backward(); },
          [&] { minibatch_.explain(); },
          [&] { for_each_sample(minibatch_, 1, [](ComputationGraph&, std::size_t) {}); },
          [&] { minibatch_.clear(); }};
}

TEST_F(OneThreadTest, WhoRecordsKeepsAllOthersOut) {
  const std::size_t size = graph_.size();
  Gate gate;
  std::thread other([&] {
    const detail::OneThread::Use use(graph_.record().tape().user());
    tanh(x_);  // it may enter again
    gate.stay();
  });
  gate.wait_for_inside();
  const auto uses = all_uses();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    EXPECT_TRUE(mentions(error_of(uses[i]), "one thread at a time"))
        << i << ": " << error_of(uses[i]);
  }
  gate.open();
  other.join();
  EXPECT_EQ(graph_.size(), size + 1);
  EXPECT_EQ(as_scalar(square(x_).value()), 9.0f);
}

TEST_F(OneThreadTest, CallbacksOfARunDoNotRecord) {
  minibatch_.forward();
  Gradients gradients;
  std::string recording, running;
  std::vector<std::string> views;
  const std::size_t values = graph_.record().tape().values().size();
  minibatch_.backward(std::vector{1u}, std::span(&gradients, 1), [&](const ParameterStorage&) {
    recording = error_of([&] { tanh(x_); });
    views = {error_of([&] {
               reshape(x_, {1, 1});
             }),
             error_of([&] { pick(x_, 0u); }), error_of([&] { nobackprop(w_here_); }),
             error_of([&] { parameter(graph_, w_); })};
    running = error_of([&] { minibatch_.forward(); });
  });
  EXPECT_TRUE(mentions(recording, "not being run"));
  EXPECT_TRUE(mentions(running, "not being run"));
  EXPECT_EQ(views, std::vector<std::string>(4, recording));
  EXPECT_EQ(graph_.record().tape().values().size(), values);
}

// Samples of two threads stay between two operations; a third thread comes.
void expect_no_stranger(
    const std::function<void(
        Minibatch&, const std::function<Expression(ComputationGraph&, std::size_t)>&)>& record) {
  Minibatch minibatch({.threads = 2});
  input(minibatch.new_graph(), {1}, {1});  // a type that is known: no sample waits for another
  Gate gates[2];
  Expression xs[2];
  std::string errors[2];
  std::thread stranger([&] {
    for (const Gate& gate : gates) gate.wait_for_inside();
    for (int i = 0; i < 2; ++i) errors[i] = error_of([&] { tanh(xs[i]); });
    for (Gate& gate : gates) gate.open();
  });
  record(minibatch, [&](ComputationGraph& graph, std::size_t i) {
    xs[i] = input(graph, {1}, {1});
    gates[i].stay();
    return xs[i];
  });
  stranger.join();
  for (const std::string& error : errors) {
    EXPECT_TRUE(mentions(error, "one thread at a time"));
  }
}

TEST(ThreadsThatRecordTest, KeepOthersOutBetweenOperations) {
  expect_no_stranger(
      [](Minibatch& minibatch, const auto& record) { minibatch.add_losses(2, record); });
}

TEST(ThreadsThatRecordTest, KeepOthersOutOfSamplesThatDecide) {
  expect_no_stranger([](Minibatch& minibatch, const auto& record) {
    for_each_sample(minibatch, 2,
                    [&](ComputationGraph& graph, std::size_t i) { record(graph, i); });
  });
}

// ---------------------------------------------------------------------- without any arrangement

// Two threads do the same things to one object, thousands of times: whatever is refused, nothing
// breaks.
void in_two_threads(const std::function<void(Random&)>& use, unsigned times) {
  std::atomic<int> ready = 0;
  const auto work = [&](std::uint64_t seed) {
    Random random(seed);
    ++ready;
    while (ready < 2) std::this_thread::yield();
    for (unsigned i = 0; i < times; ++i) {
      try {
        use(random);
      } catch (const UsageError&) {
      } catch (const StateError&) {
      }
    }
  };
  std::thread one([&] { work(1); }), other([&] { work(2); });
  one.join();
  other.join();
}

#ifdef DYNET_LIKE_TSAN
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

class TwoThreadsTest : public ::testing::TestWithParam<unsigned> {
 protected:
  Expression record(ComputationGraph& graph, std::uint32_t n) {
    Expression h = input(graph, {n}, std::vector<float>(n, 0.5f));
    for (int i = 0; i < 4; ++i) h = tanh(h + h);
    return sum_elems(h) + sum_elems(parameter(graph, w_));
  }
  float result(Minibatch& batch) {
    batch.clear();
    for (std::uint32_t n = 1; n < 6; ++n) batch.add_loss(record(batch.new_graph(), n));
    batch.forward();
    return batch.backward().values(w_)[0] + batch.loss();
  }

  ParameterCollection model_{1};
  Parameter w_ = model_.add_parameters({1}, ParameterInitConst(1));
};

TEST_P(TwoThreadsTest, OfAMinibatch) {
  const GraphOptions options{.threads = kThreadSanitizer ? 1 : GetParam()};
  Minibatch batch(options);
  const auto use = [&](Random& random) {
    const std::uint32_t size = 1 + random.below(5);
    switch (random.below(kThreadSanitizer ? 6 : 8)) {
      case 0:
        return batch.clear();
      case 1:
        return void(batch.forward());
      case 2:
        return void(batch.backward());
      case 3:
        return void(record(batch.new_graph(), size).value());
      case 4:
        return void(batch.explain());
      case 6:  // These give graphs to threads, which is no race of the guard's.
        return batch.add_losses(size, [&](ComputationGraph& graph, std::size_t i) {
          return record(graph, static_cast<std::uint32_t>(i) + 1);
        });
      case 7:
        return for_each_sample(batch, size, [&](ComputationGraph& graph, std::size_t i) {
          record(graph, static_cast<std::uint32_t>(i) + 1).value();
        });
      default:
        return batch.add_loss(record(batch.new_graph(), size));
    }
  };
  in_two_threads(use, kThreadSanitizer ? 500 : 4000);
  Minibatch fresh(options);
  EXPECT_EQ(result(batch), result(fresh));
}

INSTANTIATE_TEST_SUITE_P(Threads, TwoThreadsTest, ::testing::Values(1u, 2u));

TEST_F(TwoThreadsTest, OfAGraph) {
  ComputationGraph graph;
  const auto use = [&](Random& random) {
    switch (random.below(8)) {
      case 0:
        return graph.clear();
      case 1:
        return graph.checkpoint();
      case 2:
        return graph.revert();
      case 3:
        return void(graph.backward(record(graph, 2)));
      case 4:
        return graph.invalidate();
      case 5:
        return void(concatenate_cols({record(graph, 2), record(graph, 1)}).value());
      default:
        return void(record(graph, 1 + random.below(9)).value());
    }
  };
  in_two_threads(use, kThreadSanitizer ? 500 : 4000);
  graph.clear();
  const Expression loss = record(graph, 3);
  EXPECT_EQ(graph.backward(loss).values(w_)[0], 1.0f);
}

}  // namespace
}  // namespace dynet_like
