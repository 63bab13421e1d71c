// A second thread in a graph or minibatch is told so; what the first does stays whole.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "dynet_like/tape/tape.h"

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

  ParameterCollection model_{1};
  Parameter w_ = model_.add_parameters({1});
  Minibatch minibatch_;
  ComputationGraph& graph_ = minibatch_.new_graph();
  Expression x_ = input(graph_, {1}, {3}), w_here_ = parameter(graph_, w_), unread_ = exp(x_);
};

TEST_F(OneThreadTest, WhatRunsIsNotDisturbed) {
  while_it_runs([&] {
    const std::function<void()> uses[] = {[&] { tanh(x_); },
                                          [&] { input(graph_, {1}, {1}); },
                                          [&] { minibatch_.forward(); },
                                          [&] { unread_.value(); },
                                          [&] { minibatch_.new_graph(); },
                                          [&] { minibatch_.clear(); },
                                          [&] { minibatch_.backward(); }};
    for (const std::function<void()>& use : uses) {
      EXPECT_NE(error_of(use).find("one thread at a time"), std::string::npos)
          << &use - uses << ": " << error_of(use);
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

TEST_F(OneThreadTest, WhatIsRecordedIsNotDisturbed) {
  const std::size_t size = graph_.size();
  {
    const detail::TypeCache::Recording other(graph_.tape().cache());
    EXPECT_NE(error_of([&] { tanh(x_); }).find("one thread at a time"), std::string::npos);
    EXPECT_NE(error_of([&] { input(graph_, {1}, {1}); }), "");
  }
  EXPECT_EQ(graph_.size(), size);
  EXPECT_EQ(as_scalar(square(x_).value()), 9.0f);
}

}  // namespace
}  // namespace dynet_like
