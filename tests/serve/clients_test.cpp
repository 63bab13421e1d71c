// Clients that vanish, are slow, or send what is no request: others do not notice.
#include <future>
#include <thread>

#include "tests/serve/client.h"

#include "tests/support/precompiled.h"

namespace dynet_like::serve {
namespace {

using namespace serve::testing;

std::string echoed(ComputationGraph&, const std::string& text) { return text; }

unsigned status_of(unsigned short port, const std::string& bytes) {
  Client client(port);
  client.send(bytes);
  return client.receive().result_int();
}

TEST(ServerClientsTest, BodiesThatAreTooLarge) {
  RunningServer server(echoed, {.largest_body = 1000});
  EXPECT_EQ(post(server.port(), std::string(1000, 'x')).body().size(), 1000u);
  EXPECT_EQ(post(server.port(), std::string(1001, 'x')).result_int(), 413u);
  EXPECT_EQ(post(server.port(), std::string(5'000'000, 'x')).result_int(), 413u);
  const std::string head = "POST / HTTP/1.1\r\nHost: test\r\n";
  EXPECT_EQ(status_of(server.port(), head + "Content-Length: 18446744073709551615\r\n\r\n"), 413u);
  EXPECT_EQ(status_of(server.port(), head + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" +
                                         std::string(1001, 'x') + "\r\n0\r\n\r\n"),
            413u);
  EXPECT_EQ(
      status_of(server.port(), head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
      413u);
  EXPECT_EQ(status_of(server.port(), head + "X: " + std::string(1'000'000, 'x')), 431u);
  EXPECT_EQ(post(server.port(), "good").body(), "good");
}

// One who sends the next request before the first has run has not gone.
TEST(ServerClientsTest, WhoSendsTheNextRequestEarlyIsAnswered) {
  Gate gate;
  RunningServer server(
      [&](ComputationGraph&, const std::string& text) { return gate.pass(), text; });
  auto first = asked(server, "a");
  gate.wait_until_reached();
  Client client(server.port());
  client.send(http::verb::post, "/", "b");
  EXPECT_TRUE(server.has_waiting(1));
  client.send(http::verb::post, "/", "c");
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // the server sees it
  EXPECT_EQ(metric(server.port(), "dynet_like_queue_length"), 1);
  gate.open();
  EXPECT_EQ(first.get(), "a");
  EXPECT_EQ(client.receive().body(), "b");
  EXPECT_EQ(client.receive().body(), "c");
  EXPECT_EQ(metric(server.port(), "dynet_like_vanished_total"), 0);
}

TEST(ServerClientsTest, ThoseThatVanishAreNotComputed) {
  Gate gate;
  std::atomic<int> lost = 0;
  RunningServer server([&](ComputationGraph&, const std::string& text) {
    if (text == "lost") ++lost;
    return gate.pass(), text;
  });
  auto first = asked(server, "a");
  gate.wait_until_reached();
  for (int i = 0; i < 20; ++i) {
    Client client(server.port());
    client.send(http::verb::post, "/", "lost");
    if (i % 2 == 0) client.vanish();  // and the others by an orderly end
  }
  auto second = asked(server, "b");
  EXPECT_TRUE(eventually([&] {
    return metric(server.port(), "dynet_like_vanished_total") == 20 &&
           metric(server.port(), "dynet_like_queue_length") == 1;
  }));
  gate.open();
  EXPECT_EQ(first.get() + second.get(), "ab");
  EXPECT_EQ(lost, 0);
}

TEST(ServerClientsTest, ThoseThatVanishWhileTheirRequestRuns) {
  Gate gate;
  RunningServer server([&](ComputationGraph& graph, const std::string& text) {
    gate.pass();
    for (int step = 0; step < 3; ++step) as_scalar(square(input(graph, 2.0f)).value());
    return text;
  });
  Client lost(server.port());
  lost.send(http::verb::post, "/", "lost");
  gate.wait_until_reached();
  lost.vanish();
  auto second = asked(server, "b");
  gate.open();
  EXPECT_EQ(second.get(), "b");
  EXPECT_TRUE(eventually([&] { return metric(server.port(), "dynet_like_connections") == 1; }));
}

TEST(ServerClientsTest, SlowWritersAreCutOff) {
  RunningServer server(echoed, {.client_timeout = std::chrono::milliseconds(100)});
  Client silent(server.port()), head(server.port()), body(server.port()), dripping(server.port());
  head.send("POST / HTTP/1.1\r\nHost:");
  body.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nabc");
  std::thread drip([&] {  // a byte now and then does not help
    for (const char byte : std::string("POST / HTTP/1.1\r\nHost: test of slow")) {
      dripping.send(std::string(1, byte));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_EQ(post(server.port(), "good").body(), "good");
  for (Client* client : {&silent, &head, &body, &dripping}) EXPECT_EQ(client->receive_all(), "");
  drip.join();
  EXPECT_GE(metric(server.port(), "dynet_like_slow_clients_total"), 4);
}

TEST(ServerClientsTest, SlowReadersAreCutOff) {
  constexpr std::size_t kBytes = 64 << 20;  // more than the system keeps for a socket
  RunningServer server(
      [&](ComputationGraph&, const std::string& text) {
        return text == "large" ? std::string(kBytes, 'x') : text;
      },
      {.client_timeout = std::chrono::milliseconds(300)});
  Client slow(server.port());
  slow.send(http::verb::post, "/", "large");
  EXPECT_EQ(post(server.port(), "good").body(), "good");
  EXPECT_TRUE(
      eventually([&] { return metric(server.port(), "dynet_like_slow_clients_total") == 1; }));
  EXPECT_LT(slow.receive_all().size(), kBytes);
  EXPECT_EQ(metric(server.port(), "dynet_like_connections"), 1);
}

TEST(ServerClientsTest, NoMoreConnectionsThanAllowed) {
  RunningServer server(echoed, {.connections = 2});
  {
    Client first(server.port()), second(server.port());
    first.send(http::verb::post, "/", "a");
    second.send(http::verb::post, "/", "b");
    EXPECT_EQ(first.receive().body() + second.receive().body(), "ab");
    Client third(server.port());
    third.send(http::verb::post, "/", "never read");
    const std::string refusal = third.receive_all();
    EXPECT_NE(refusal.find("503"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("Retry-After: 1"), std::string::npos) << refusal;
    first.send(http::verb::post, "/", "c");
    EXPECT_EQ(first.receive().body(), "c");
  }
  EXPECT_TRUE(eventually([&] { return post(server.port(), "d").result_int() == 200; }));
}

TEST(ServerClientsTest, ManyConnectionsOneAfterTheOther) {
  RunningServer server(echoed);
  for (int i = 0; i < 400; ++i) {
    const std::string text = std::to_string(i);
    ASSERT_EQ(post(server.port(), text).body(), text);
    if (i % 4 == 0) Client(server.port()).send("POST / HT");
  }
  EXPECT_EQ(metric(server.port(), "dynet_like_requests_total"), 400);
  EXPECT_TRUE(eventually([&] { return metric(server.port(), "dynet_like_connections") == 1; }));
}

}  // namespace
}  // namespace dynet_like::serve
