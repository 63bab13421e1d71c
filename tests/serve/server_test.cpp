// A server: what it answers and counts, and that requests run together with the bits that they have
// alone.
#include <chrono>
#include <future>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "dynet_like/serve/metrics.h"
#include "tests/serve/client.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/walker.h"

namespace dynet_like::serve {
namespace {

using namespace serve::testing;
using dynet_like::testing::Walker;

std::string echo(ComputationGraph&, const std::string& text) { return text; }

class ServerBatchesTest : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Threads, ServerBatchesTest, ::testing::Values(1u, 2u));

TEST_P(ServerBatchesTest, HaveTheSameBits) {
  const unsigned threads = GetParam();
  const Walker walker;
  constexpr unsigned kRequests = 24;
  std::vector<std::string> expected;
  for (unsigned i = 0; i < kRequests; ++i) {
    ComputationGraph alone;
    expected.push_back(walk(walker, alone, std::to_string(i)));
  }
  Gate gate;
  RunningServer server(
      [&](ComputationGraph& graph, const std::string& text) {
        if (text == "gate") return gate.pass(), text;
        return walk(walker, graph, text);
      },
      {.io_threads = threads, .graph = {.threads = threads}});
  auto first = asked(server, "gate");
  gate.wait_until_reached();
  std::vector<std::future<std::string>> answers;
  for (unsigned i = 0; i < kRequests; ++i) answers.push_back(asked(server, std::to_string(i)));
  EXPECT_TRUE(server.has_waiting(kRequests));
  gate.open();
  for (unsigned i = 0; i < kRequests; ++i) EXPECT_EQ(answers[i].get(), expected[i]) << i;
  EXPECT_EQ(first.get(), "gate");
  const double all = metric(server.port(), "dynet_like_batch_size_count");
  EXPECT_GT(all, 0);
  EXPECT_LT(metric(server.port(), "dynet_like_batch_size_bucket{le=\"16\"}"), all);
  EXPECT_EQ(metric(server.port(), "dynet_like_batch_size_bucket{le=\"32\"}"), all);
}

TEST(ServerTest, ARequestJoinsOthersThatRun) {
  std::atomic<bool> second_has_run = false;
  Gate begun;
  begun.open();
  RunningServer server([&](ComputationGraph& graph, const std::string& text) -> std::string {
    if (text == "second") return second_has_run = true, text;
    begun.pass();
    for (int step = 1;; ++step) {
      as_scalar(square(input(graph, 2.0f)).value());
      if (second_has_run) return text;
    }
  });
  auto first = asked(server, "first");
  begun.wait_until_reached();
  EXPECT_EQ(post(server.port(), "second").body(), "second");
  EXPECT_EQ(first.get(), "first");
}

TEST(ServerTest, NoMoreThanTheLargestBatchRunAtOnce) {
  std::atomic<int> running = 0, most = 0;
  RunningServer server(
      [&](ComputationGraph& graph, const std::string& text) {
        most = std::max<int>(most, ++running);
        for (int step = 0; step < 20; ++step) as_scalar(square(input(graph, 2.0f)).value());
        --running;
        return text;
      },
      {.largest_batch = 3});
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 12; ++i) answers.push_back(asked(server, "x"));
  for (auto& answer : answers) EXPECT_EQ(answer.get(), "x");
  EXPECT_LE(most, 3);
  EXPECT_EQ(metric(server.port(), "dynet_like_batch_size_bucket{le=\"4\"}"),
            metric(server.port(), "dynet_like_batch_size_count"));
}

// When many wait, a quarter of the largest batch is let in together.
TEST(ServerTest, ManyThatWaitComeInGroups) {
  std::atomic<int> may_end = 0;
  RunningServer server(
      [&](ComputationGraph& graph, const std::string& text) {
        for (int left = may_end;; left = may_end) {
          as_scalar(square(input(graph, 2.0f)).value());
          if (left > 0 && may_end.compare_exchange_strong(left, left - 1)) return text;
        }
      },
      {.largest_batch = 8});
  std::vector<std::future<std::string>> answers;
  const auto ask = [&](int count) {
    for (int i = 0; i < count; ++i) answers.push_back(asked(server, "x"));
  };
  const auto waiting = [&] { return metric(server.port(), "dynet_like_queue_length"); };
  const auto requests = [&] { return metric(server.port(), "dynet_like_requests_total"); };
  ask(8);
  EXPECT_TRUE(eventually([&] { return requests() == 8 && waiting() == 0; }));
  ask(5);
  EXPECT_TRUE(eventually([&] { return waiting() == 5; }));
  may_end = 1;
  EXPECT_TRUE(eventually([&] { return may_end == 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(waiting(), 5);
  may_end = 1;
  EXPECT_TRUE(eventually([&] { return waiting() == 3; }));
  may_end = 11;
  for (auto& answer : answers) EXPECT_EQ(answer.get(), "x");
}

TEST(ServerTest, AnExceptionIsTheAnswerOfItsRequestOnly) {
  Gate gate;
  RunningServer server([&](ComputationGraph& graph, const std::string& text) -> std::string {
    if (text == "gate") gate.pass();
    if (text == "mine") throw std::runtime_error("my message");
    if (text == "bad") throw BadRequest("no such word");
    if (text == "shape") (void)(input(graph, {2}, {1, 2}) * input(graph, {3}, {1, 2, 3}));
    if (text == "number") throw 7;
    return std::to_string(as_scalar(square(input(graph, 3.0f)).value()));
  });
  auto first =
      std::async(std::launch::async, [&] { return post(server.port(), "gate").result_int(); });
  gate.wait_until_reached();
  struct Case {
    std::string text;
    unsigned status;
    std::string part;
  };
  const std::vector<Case> cases = {{"mine", 500, "my message"},  {"good", 200, "9.0"},
                                   {"bad", 400, "no such word"}, {"shape", 500, "[matrix_product]"},
                                   {"number", 500, "failed"},    {"good", 200, "9.0"}};
  std::vector<std::future<http::response<http::string_body>>> answers;
  for (const Case& c : cases) {
    answers.push_back(std::async(std::launch::async, [&] { return post(server.port(), c.text); }));
  }
  EXPECT_TRUE(server.has_waiting(6));
  gate.open();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto answer = answers[i].get();
    EXPECT_EQ(answer.result_int(), cases[i].status) << cases[i].text;
    EXPECT_NE(answer.body().find(cases[i].part), std::string::npos) << answer.body();
  }
  EXPECT_EQ(first.get(), 200u);
}

TEST(ServerTest, AFullQueueRefuses) {
  Gate gate;
  RunningServer server(
      [&](ComputationGraph&, const std::string& text) { return gate.pass(), text; },
      {.queue_length = 2});
  auto first = asked(server, "a");
  gate.wait_until_reached();
  auto second = asked(server, "b");
  auto third = asked(server, "c");
  EXPECT_TRUE(server.has_waiting(2));
  const auto refused = post(server.port(), "d");
  EXPECT_EQ(refused.result_int(), 503u);
  EXPECT_EQ(refused[http::field::retry_after], "1");
  gate.open();
  EXPECT_EQ(first.get() + second.get() + third.get(), "abc");
  EXPECT_EQ(metric(server.port(), "dynet_like_rejected_total"), 1);
}

TEST(ServerTest, WhatWaitsTooLongIsNeverComputed) {
  Gate gate;
  std::atomic<int> runs = 0;
  RunningServer server(
      [&](ComputationGraph&, const std::string& text) { return ++runs, gate.pass(), text; },
      {.deadline = std::chrono::milliseconds(50)});
  auto first = asked(server, "a");
  gate.wait_until_reached();
  EXPECT_EQ(post(server.port(), "b").result_int(), 504u);  // while the first one still runs
  EXPECT_EQ(metric(server.port(), "dynet_like_queue_length"), 0);
  gate.open();
  EXPECT_EQ(first.get(), "a");
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(metric(server.port(), "dynet_like_deadline_exceeded_total"), 1);
  EXPECT_EQ(metric(server.port(), "dynet_like_answers_total{code=\"200\"}"), 3);
}

TEST(ServerTest, OtherPathsAndMethods) {
  RunningServer server(echo, {.path = "/tag", .content_type = "application/json"});
  EXPECT_EQ(get(server.port(), "/healthz"), "ok\n");
  Client client(server.port());  // all by one connection
  const auto status = [&](http::verb method, const std::string& target) {
    client.send(method, target, "text");
    return client.receive().result_int();
  };
  EXPECT_EQ(status(http::verb::post, "/"), 404u);
  EXPECT_EQ(status(http::verb::get, "/tag"), 405u);
  EXPECT_EQ(status(http::verb::post, "/metrics"), 405u);
  client.send(http::verb::post, "/tag?x=1", "text");
  const auto answer = client.receive();
  EXPECT_EQ(answer.body(), "text");
  EXPECT_EQ(answer[http::field::content_type], "application/json");
  EXPECT_EQ(metric(server.port(), "dynet_like_requests_total"), 1);
  EXPECT_EQ(metric(server.port(), "dynet_like_latency_seconds_count"), 1);
  EXPECT_EQ(metric(server.port(), "dynet_like_latency_seconds_bucket{le=\"+Inf\"}"), 1);
}

TEST(ServerTest, OptionsThatMakeNoSense) {
  const auto message = [](auto change) {
    Options options = {.port = 0};
    change(options);
    return message_of<UsageError>([&] { Server(echo, options); });
  };
  for (const unsigned threads : {0u, 1025u, 4294967295u}) {
    EXPECT_EQ(message([&](Options& o) { o.io_threads = threads; }),
              "[serve] need 1 to 1024 as io_threads; got " + std::to_string(threads));
  }
  EXPECT_NE(message([](Options& o) { o.largest_batch = 0; }).find("batch"), std::string::npos);
  EXPECT_NE(message([](Options& o) { o.path = "tag"; }).find("got tag"), std::string::npos);
  EXPECT_NE(message([](Options& o) { o.deadline = {}; }).find("time limits"), std::string::npos);
}

TEST(ServerTest, AnAddressThatCannotBeHad) {
  RunningServer server(echo);
  Options options = {.port = server.port()};
  EXPECT_THROW(Server(echo, options), DeviceError);
  options.address = "no address";
  EXPECT_THROW(Server(echo, options), DeviceError);
}

// For the fibers of samples: so much and a little more than what the process has now.
class LimitedAddressSpace {
 public:
  explicit LimitedAddressSpace(std::size_t more) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + more;
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~LimitedAddressSpace() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_ = {};
};

// Where there is no stack for one more request, those that run are refused, and what was taken
// keeps no place of the next batch.
TEST(ServerTest, ABatchThatFailedKeepsNoPlaces) {
  constexpr std::size_t kStack = 128 << 20, kBatch = 4, kRequests = 12;
  Gate gate;
  RunningServer server(
      [&](ComputationGraph& graph, const std::string& text) {
        if (text == "gate") gate.pass();
        for (int step = 0; step < 5; ++step) as_scalar(square(input(graph, 2.0f)).value());
        return text;
      },
      {.largest_batch = kBatch, .graph = {.stack_bytes = kStack}});
  std::vector<std::future<unsigned>> answers;
  const auto ask = [&](const std::string& text) {
    answers.push_back(std::async(std::launch::async,
                                 [&, text] { return post(server.port(), text).result_int(); }));
  };
  ask("gate");
  gate.wait_until_reached();
  for (std::size_t i = 0; i < kRequests; ++i) ask("x");
  EXPECT_TRUE(server.has_waiting(kRequests));
  {
    const LimitedAddressSpace limited(2 * kStack + kStack / 2);
    gate.open();
    std::size_t failed = 0;
    for (auto& answer : answers) failed += answer.get() == 500;
    EXPECT_GT(failed, 0u);
  }
  const auto batches = [&](const std::string& which) {
    return metric(server.port(), "dynet_like_batch_size_" + which);
  };
  const double before = batches("count"), before_of_one = batches("bucket{le=\"1\"}");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(post(server.port(), "good").body(), "good");
  EXPECT_GT(batches("count"), before);
  EXPECT_EQ(batches("bucket{le=\"1\"}") - before_of_one, batches("count") - before);
}

TEST(ServerTest, GraphsThatCannotBeMadeEndIt) {
  RunningServer server(echo, {.graph = {.stack_bytes = 1}});
  EXPECT_THROW(server.wait(), UsageError);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(HistogramTest, ANumberOnALimitCountsUpToIt) {
  Histogram histogram({1, 2.5, 4});
  for (const double limit : {1.0, 2.5, 4.0}) {
    for (const double to : {-kInfinity, limit, kInfinity}) {
      histogram.add(std::nextafter(limit, to));
    }
  }
  histogram.add(-1);
  histogram.add(kInfinity);
  const std::string text = histogram.text("x", "numbers");
  EXPECT_EQ(text.substr(0, text.find("x_sum")),
            "# HELP x numbers\n# TYPE x histogram\n"
            "x_bucket{le=\"1\"} 3\nx_bucket{le=\"2.5\"} 6\nx_bucket{le=\"4\"} 9\n"
            "x_bucket{le=\"+Inf\"} 11\n");
  EXPECT_NE(text.find("x_sum inf\nx_count 11\n"), std::string::npos) << text;
}

TEST(MetricsTest, BatchesCountUpToTheirSize) {
  Metrics metrics;
  for (std::size_t size = 1; size <= 512; ++size) metrics.add_batch(size);
  const std::string text = metrics.text(0, 0);
  for (std::size_t size = 1; size <= 512; size *= 2) {
    const std::string number = std::to_string(size);
    EXPECT_NE(text.find("batch_size_bucket{le=\"" + number + "\"} " + number + "\n"),
              std::string::npos)
        << size;
  }
}

}  // namespace
}  // namespace dynet_like::serve
