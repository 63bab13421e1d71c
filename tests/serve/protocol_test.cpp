// What RFC 9110 and 9112 demand of a server, as bytes that are sent and what comes back, and
// clients of others.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/serve/client.h"
#include "tests/support/precompiled.h"
#include "tests/support/python.h"

namespace dynet_like::serve {
namespace {

using namespace serve::testing;

const std::string kHost = "Host: test\r\n";
const std::string kChunked = "POST / HTTP/1.1\r\n" + kHost + "Transfer-Encoding: chunked\r\n\r\n";
const std::string kLast =
    "POST / HTTP/1.1\r\n" + kHost + "Connection: close\r\nContent-Length: 4\r\n\r\nlast";

struct Case {
  std::string request;
  unsigned status = 400;
  bool goes_on = false;   ///< the next request on the connection is answered
  std::string body = "";  ///< of a good answer
};

std::string post_with(const std::string& fields, const std::string& body = "hi") {
  return "POST / HTTP/1.1\r\n" + fields + "\r\n" + body;
}
std::string with_line(const std::string& line) { return line + "\r\n" + kHost + "\r\n"; }
std::string posted_to(const std::string& target, const std::string& version = "HTTP/1.1") {
  return "POST " + target + " " + version + "\r\n" + kHost + "Content-Length: 2\r\n\r\nhi";
}

class ProtocolTest : public ::testing::Test {
 protected:
  // Sends this and one good request more, and returns all that comes until the server closes.
  std::string answers_to(const std::string& request) {
    Client client(server_.port());
    client.send(request + kLast);
    return client.receive_all();
  }

  void expect(const std::vector<Case>& cases) {
    for (const Case& c : cases) {
      SCOPED_TRACE(c.request);
      handled_.clear();
      const std::string all = answers_to(c.request);
      EXPECT_EQ(all.substr(0, 13), "HTTP/1.1 " + std::to_string(c.status) + " ") << all;
      EXPECT_EQ(all.ends_with("\r\n\r\nlast"), c.goes_on) << all;
      const std::size_t begin = all.find("\r\n\r\n") + 4;
      if (c.status == 200) {
        EXPECT_EQ(all.substr(begin, all.find("HTTP/1.1 ", begin) - begin), c.body);
      }
      std::vector<std::string> handled;
      if (c.status == 200 && c.request.find("POST ") != std::string::npos) handled = {c.body};
      if (c.goes_on) handled.push_back("last");
      EXPECT_EQ(handled_, handled);
      EXPECT_NE(all.find("\r\nDate: "), std::string::npos) << all;
    }
  }

  std::vector<std::string> handled_;  // by the one thread that runs the handler
  RunningServer server_{[this](ComputationGraph&, const std::string& text) {
    handled_.push_back(text);
    return text;
  }};
};

// RFC 9112, 6: a request that ends elsewhere for a proxy in front than for this server is two.
TEST_F(ProtocolTest, WhereABodyEnds) {
  const std::string smuggled =
      "2\r\nhi\r\n0\r\n\r\nPOST / HTTP/1.1\r\n" + kHost + "Content-Length: 8\r\n\r\nsmuggled";
  for (const std::string coding :
       {"gzip", "xchunked", "chunked-x", "identity", "\"chunked\"", "chunked;a=1", "chunked, gzip",
        "", "chunked,", "chunked\r\nContent-Length: 2", "chunked\r\nTransfer-Encoding: chunked",
        "gzip\r\nTransfer-Encoding: chunked", "chunked\r\n , gzip", "\r\n chunked"}) {
    expect({{post_with(kHost + "Transfer-Encoding: " + coding + "\r\n", smuggled)}});
  }
  for (const std::string coding : {"gzip, chunked", "chunked, chunked", "identity,\tchunked"}) {
    expect({{post_with(kHost + "Transfer-Encoding: " + coding + "\r\n", smuggled), 501}});
  }
  for (const std::string length :
       {"-2", "+2", "0x2", "2 2", "2,3", "2\r\nContent-Length: 3", "", "2;", "18446744073709551618",
        "99999999999999999999999", "2\r\n 2", "2.0", "2\r\nTransfer-Encoding: chunked"}) {
    expect({{post_with(kHost + "Content-Length: " + length + "\r\n")}});
  }
  expect({{"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled}});
  expect({{post_with(kHost + "Transfer-Encoding : chunked\r\n", smuggled)}});
  expect({{post_with(kHost + " Content-Length: 2\r\n")}});
  expect({{post_with(kHost + "Content-Length: 2\r\nContent-Length: 2\r\n"), 200, true, "hi"}});
  expect({{post_with(kHost + "Transfer-Encoding: CHUNKED\r\n", "2\r\nhi\r\n0\r\n\r\n"), 200, true,
           "hi"}});
  expect({{post_with(kHost, ""), 200, true}});
}

// RFC 9112, 5.2: what begins with a space may go on with the field before, or be a field of its
// own.
TEST_F(ProtocolTest, FieldsHaveOneLine) {
  for (const std::string space : {" ", "\t"}) {
    for (const std::string& note : {"a\r\n" + space + "b", "\r\n" + space + "b", "a\r\n" + space}) {
      expect({{post_with(kHost + "X-Note: " + note + "\r\nContent-Length: 2\r\n")}});
    }
  }
}

// RFC 9112, 7.1.
TEST_F(ProtocolTest, Chunks) {
  expect({{kChunked + "2\r\nhi\r\n4\r\n you\r\n0\r\n\r\n", 200, true, "hi you"},
          {kChunked + "002;a=1;b=\"x;y\";c\r\nhi\r\n0;d\r\nX: y\r\nZ:\r\n\r\n", 200, true, "hi"},
          {kChunked + "A\r\n0123456789\r\n000\r\n\r\n", 200, true, "0123456789"},
          {kChunked + "0\r\nConnection: close\r\n\r\n", 200, true},
          {kChunked + "0\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n", 431},
          {kChunked + "2;a=" + std::string(70'000, 'x') + "\r\nhi\r\n0\r\n\r\n", 431}});
  for (const std::string body :
       {"2\nhi\n0\n\n", "2\r\nhi!\r\n0\r\n\r\n", "0;a=\"\n\"\r\n\r\n", "xyz\r\n",
        "0\r\nX : y\r\n\r\n", "0\r\nContent-Length: 3\r\n\r\n"}) {
    expect({{kChunked + body}});
  }
  for (const std::string size :
       {"2;\n", "2;a=\"\n\"", "0x2", "+2", " 2", "-1", "", "10000000000000002"}) {
    expect({{kChunked + size + "\r\nhi\r\n0\r\n\r\n"}});
  }
}

// RFC 9112, 2 to 5.
TEST_F(ProtocolTest, LinesAndVersions) {
  const std::string good = post_with(kHost + "Content-Length: 2\r\n");
  expect({{"\r\n" + good, 200, true, "hi"},
          {"\r\n\r\n\r\n" + good, 200, true, "hi"},
          {posted_to("/", "HTTP/1.2"), 200, true, "hi"},
          {posted_to("/", "HTTP/1.9"), 200, true, "hi"},
          {post_with("hOsT:test\r\ncontent-LENGTH:\t 2 \t\r\nX:\r\n"), 200, true, "hi"},
          {posted_to("/", "HTTP/2.0"), 505},
          {posted_to("/", "HTTP/0.9"), 505},
          {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
          {"GET /healthz\r\n"},
          {"\x16\x03\x01 a greeting of TLS"},
          {std::string("\0\1\2\3\r\n\r\n", 8)},
          {"hello\r\n\r\n"},
          {"POST / HTTP\r\n\r\n"},
          {"POST / HTTP/1.1\n" + kHost + "Content-Length: 2\n\nhi"},
          {post_with(kHost + std::string("X: \0\r\n", 6))},
          {"POST /" + std::string(9000, 'x') + " HTTP/1.1\r\n" + kHost + "\r\n", 414},
          {post_with(kHost + "X: " + std::string(9000, 'x') + "\r\n"), 431}});
  for (const char* version : {"HTTP/1", "HTTP/1.10", "HTTP/1.1 ", "http/1.1", " HTTP/1.1"}) {
    expect({{posted_to("/", version)}});
  }
  for (const char* before : {" ", "\n", "\r"}) expect({{before + good}});
  for (const std::string line : {"no colon", "X: a\nContent-Length: 2", "X: a\rContent-Length: 2",
                                 "X: a\r\n b", ": a", "X Y: a"}) {
    expect({{post_with(kHost + line + "\r\n")}});
  }
}

// RFC 9112, 3.2.
TEST_F(ProtocolTest, HostsAndTargets) {
  const std::string length = "Content-Length: 2\r\n";
  expect({{post_with(length)},
          {post_with(kHost + kHost + length)},
          {post_with("Host:\r\n" + length), 200, true, "hi"},
          {post_with("Host: [::1]:8080\r\n" + length), 200, true, "hi"},
          {posted_to("http://test/"), 200, true, "hi"},
          {posted_to("HTTPS://test:80"), 200, true, "hi"},
          {posted_to("http://test?x=/y"), 200, true, "hi"},
          {posted_to("/?x=http://y"), 200, true, "hi"},
          {posted_to("http://test/other"), 404, true},
          {posted_to("//"), 404, true}});
  for (const std::string host : {"a b", "a/b", "a@b"}) {
    expect({{post_with("Host: " + host + "\r\n" + length)}});
  }
  for (const std::string target : {"http:///", "http://a@b/", "ftp://test/", "test", "*", "test:80",
                                   "/#part", "/\xc3\xa4", "/\x01"}) {
    expect({{posted_to(target)}});
  }
}

// RFC 9110, 9 and 15.
TEST_F(ProtocolTest, Methods) {
  expect(
      {{with_line("GET /healthz HTTP/1.1"), 200, true, "ok\n"},
       {with_line("HEAD /healthz HTTP/1.1"), 200, true},
       {with_line("OPTIONS /healthz HTTP/1.1"), 200, true},
       {with_line("OPTIONS * HTTP/1.1"), 200, true},
       {with_line("GET / HTTP/1.1"), 405, true},
       {with_line("DELETE / HTTP/1.1"), 405, true},
       {with_line("TRACE / HTTP/1.1"), 405, true},
       {posted_to("/healthz"), 405, true},
       {posted_to("/nothing"), 404, true},
       {with_line("OPTIONS /nothing HTTP/1.1"), 404, true},
       {with_line("CONNECT test:80 HTTP/1.1"), 501, true},
       {with_line("post / HTTP/1.1"), 501, true},
       {with_line("NONSENSE /nothing HTTP/1.1"), 501, true},
       {with_line("PO(ST / HTTP/1.1")},
       {post_with(kHost + "Content-Encoding: gzip\r\nContent-Length: 2\r\n"), 415, true},
       {post_with(kHost + "Content-Encoding: identity\r\nContent-Length: 2\r\n"), 200, true, "hi"},
       {post_with(kHost + "Expect: tea\r\nContent-Length: 2\r\n"), 417},
       {post_with(kHost + "Expect: tea\r\n", ""), 417, true}});
  const auto allowed = [&](const std::string& line) {
    const std::string all = answers_to(with_line(line));
    const std::size_t begin = all.find("Allow: ");
    return all.substr(begin, all.find('\r', begin) - begin);
  };
  EXPECT_EQ(allowed("GET / HTTP/1.1"), "Allow: POST, OPTIONS");
  EXPECT_EQ(allowed("OPTIONS / HTTP/1.1"), "Allow: POST, OPTIONS");
  EXPECT_EQ(allowed("DELETE /metrics HTTP/1.1"), "Allow: GET, HEAD, OPTIONS");
  EXPECT_EQ(allowed("OPTIONS * HTTP/1.1"), "Allow: GET, HEAD, POST, OPTIONS");
}

// RFC 9110, 9.3.2: what HEAD is told is what GET is told, but for the body.
TEST_F(ProtocolTest, AnswersToHeadHaveNoBody) {
  const auto head_of = [](const std::string& all) {
    const std::string head = all.substr(0, all.find("\r\n\r\n") + 4);
    const std::size_t date = head.find("Date: ");
    return head.substr(0, date) + head.substr(head.find('\n', date) + 1);
  };
  for (const std::string& rest :
       {"/healthz HTTP/1.1\r\n" + kHost, "/nothing HTTP/1.1\r\n" + kHost, "/ HTTP/1.1\r\n" + kHost,
        std::string("/healthz HTTP/1.1\r\n"), std::string("/healthz HTTP/3.1\r\n"),
        "/healthz HTTP/1.1\r\n" + kHost + "no colon\r\n",
        "/healthz HTTP/1.1\r\n" + kHost + "Content-Length: 70000\r\n"}) {
    Client head(server_.port()), get(server_.port());
    head.send("HEAD " + rest + "Connection: close\r\n\r\n");
    get.send("GET " + rest + "Connection: close\r\n\r\n");
    const std::string answer = head.receive_all();
    EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
    EXPECT_EQ(head_of(answer), head_of(get.receive_all())) << rest;
  }
}

// RFC 9110, 10.1.1.
TEST_F(ProtocolTest, WhetherABodyIsWanted) {
  const std::string fields = kHost + "Content-Length: 2\r\nExpect: 100-Continue\r\n";
  Client good(server_.port()), old(server_.port()), other(server_.port()), large(server_.port()),
      empty(server_.port()), unknown(server_.port());
  good.send(post_with(fields, ""));
  EXPECT_EQ(good.receive().result_int(), 100u);
  good.send("hi");
  EXPECT_EQ(good.receive().body(), "hi");
  old.send("POST / HTTP/1.0\r\n" + fields + "\r\nhi");
  EXPECT_TRUE(old.receive_all().starts_with("HTTP/1.1 200 "));
  other.send("POST /other HTTP/1.1\r\n" + fields + "\r\n");
  EXPECT_TRUE(other.receive_all().starts_with("HTTP/1.1 404 "));
  large.send(post_with(kHost + "Content-Length: 70000\r\nExpect: 100-continue\r\n", ""));
  EXPECT_TRUE(large.receive_all().starts_with("HTTP/1.1 413 "));
  empty.send(post_with(kHost + "Connection: close\r\nExpect: 100-continue\r\n", ""));
  EXPECT_TRUE(empty.receive_all().starts_with("HTTP/1.1 200 "));
  unknown.send(post_with(kHost + "Content-Length: 2\r\nExpect: tea\r\n", ""));
  EXPECT_TRUE(unknown.receive_all().starts_with("HTTP/1.1 417 "));
}

// RFC 9112, 9.3.
TEST_F(ProtocolTest, WhetherAConnectionGoesOn) {
  const std::string old = "POST / HTTP/1.0\r\nContent-Length: 2\r\n";
  expect({{old + "\r\nhi", 200, false, "hi"},
          {old + "Connection: keep-alive\r\n\r\nhi", 200, true, "hi"},
          {old + "Connection: Keep-Alive, x\r\n" + kHost + "\r\nhi", 200, true, "hi"},
          {old + kHost + kHost + "\r\nhi"},
          {post_with(kHost + "Content-Length: 2\r\nConnection: x, close\r\n"), 200, false, "hi"},
          {post_with(kHost + "Content-Length: 2\r\nConnection: x\r\nConnection: Close\r\n"), 200,
           false, "hi"}});
  EXPECT_NE(answers_to(old + "Connection: keep-alive\r\n\r\nhi").find("Connection: keep-alive"),
            std::string::npos);
}

// Whatever pieces come, the answers are the same.
TEST_F(ProtocolTest, InTwoPieces) {
  const std::string all = "\r\n" + kChunked + "2;a\r\nab\r\n1\r\nc\r\n0\r\nX: y\r\n\r\n" +
                          with_line("HEAD /healthz HTTP/1.1") + posted_to("http://test/") + kLast;
  for (std::size_t size = 1; size < all.size(); ++size) {
    handled_.clear();
    Client client(server_.port());
    client.send(all.substr(0, size));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    client.send(all.substr(size));
    EXPECT_TRUE(client.receive_all().ends_with("\r\n\r\nlast")) << size;
    EXPECT_EQ(handled_, (std::vector<std::string>{"abc", "hi", "last"})) << size;
  }
}

TEST(OtherClientsTest, AreSatisfied) {
  const std::string python = "'" + python_interpreter() + "' ";
  if (std::system((python + "-c 'import h11' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "needs Python with h11, which scripts/python_env.sh installs";
  }
  RunningServer server([](ComputationGraph&, const std::string& text) { return text; });
  const char* const source = std::getenv("DYNET_LIKE_SOURCE_DIR");
  const std::string program = "'" + std::string(source) + "/tests/serve/other_clients.py' ";
  EXPECT_EQ(std::system((python + program + std::to_string(server.port())).c_str()), 0);
}

}  // namespace
}  // namespace dynet_like::serve
