// How a server ends: it answers what it has, and takes no more.
#include <csignal>
#include <future>

#include "tests/serve/client.h"

#include "tests/support/precompiled.h"

namespace dynet_like::serve {
namespace {

using namespace serve::testing;

TEST(ServerStopTest, WhatWaitsIsAnswered) {
  Gate gate;
  RunningServer server([&](ComputationGraph& graph, const std::string& text) {
    gate.pass();
    return text + std::to_string(as_scalar(square(input(graph, 2.0f)).value()));
  });
  Client idle(server.port()), unfinished(server.port()), open(server.port());
  unfinished.send("POST / HT");
  std::vector<std::future<std::string>> answers;
  const auto ask = [&] { answers.push_back(asked(server, "x")); };
  ask();
  gate.wait_until_reached();
  for (int i = 0; i < 7; ++i) ask();
  EXPECT_TRUE(server.has_waiting(7));
  server.stop();
  server.stop();
  EXPECT_TRUE(eventually([&] {
    try {
      Client late(server.port());
      return false;
    } catch (const boost::system::system_error&) {  // refused
      return true;
    }
  }));
  open.send(http::verb::post, "/", "late");  // a connection that was there, with another request
  EXPECT_EQ(open.receive().result_int(), 503u);
  EXPECT_FALSE(server.has_ended());
  gate.open();
  for (auto& answer : answers) EXPECT_EQ(answer.get(), "x4.000000");
  server.wait();
  EXPECT_EQ(idle.receive_all(), "");
  EXPECT_EQ(unfinished.receive_all(), "");
}

TEST(ServerStopTest, WhatWaitsBeyondTheLimitIsRefused) {
  Gate gate;
  RunningServer server(
      [&](ComputationGraph&, const std::string& text) { return gate.pass(), text; },
      {.stop_timeout = std::chrono::milliseconds(50)});
  auto first = asked(server, "a");
  gate.wait_until_reached();
  auto second =
      std::async(std::launch::async, [&] { return post(server.port(), "b").result_int(); });
  EXPECT_TRUE(server.has_waiting(1));
  server.stop();
  EXPECT_EQ(second.get(), 503u);
  gate.open();
  EXPECT_EQ(first.get(), "a");
  server.wait();
}

TEST(ServerStopTest, AHandlerMayStopIt) {
  Server* itself = nullptr;
  Server server(
      [&](ComputationGraph&, const std::string& text) {
        itself->stop();
        return text;
      },
      {.port = 0});
  itself = &server;
  auto answer = asked(server, "last");
  server.run();
  EXPECT_EQ(answer.get(), "last");
  EXPECT_THROW(server.run(), UsageError);
}

TEST(ServerStopTest, BeforeItRuns) {
  Server server([](ComputationGraph&, const std::string& text) { return text; }, {.port = 0});
  server.stop();
  server.run();
}

TEST(ServerStopTest, Signals) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Server server([](ComputationGraph&, const std::string& text) { return text; }, {.port = 0});
    auto ended = std::async(std::launch::async, [&] { server.run(); });
    EXPECT_EQ(post(server.port(), "x").body(), "x");  // it runs, and so it looks for signals
    std::raise(signal);
    ended.get();
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL);
  }
}

}  // namespace
}  // namespace dynet_like::serve
