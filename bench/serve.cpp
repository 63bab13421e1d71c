// How much a server gains by running requests together. Every answer is counted, and compared with
// the bits of its request alone.
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "dynet_like/serve/server.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using Seconds = std::chrono::duration<double>;
using SteadyClock = std::chrono::steady_clock;
using boost::asio::ip::tcp;
namespace http = boost::beast::http;

struct Settings {
  unsigned clients = 200, hidden = 256, words = 10000, batch = 64;
  double seconds = 60;
};

/// Reads a text and writes as many words, one after the other, with random weights. Its words make
/// no sense, but it takes as long as a trained model. The bits of each word's score follow the
/// word.
struct Writer {
  Writer(unsigned hidden, unsigned words)
      : letters(model, 256, hidden),
        vocabulary(model, words, hidden),
        reader(model, hidden, hidden),
        writer(model, hidden, hidden),
        output(model, hidden, words) {}

  std::string operator()(ComputationGraph& graph, const std::string& text) const {
    nn::LSTM::State state = reader.start(graph);
    for (const unsigned char c : text) state = reader.step(state, letters(graph, c));
    std::string written;
    for (std::size_t left = text.size(); left > 0; --left) {
      const Tensor scores = output(state.h).value();
      const unsigned word = argmax(scores);
      written += std::to_string(word) + ":" +
                 std::to_string(std::bit_cast<std::uint32_t>(scores.v[word])) + " ";
      state = writer.step(state, vocabulary(graph, word));
    }
    return written;
  }

  ParameterCollection model{1};
  nn::Embedding letters, vocabulary;
  nn::LSTM reader, writer;
  nn::Linear output;
};

/// Requests, with their expected answers.
struct Questions {
  explicit Questions(const Writer& writer) {
    Random random(1);
    for (int i = 0; i < 200; ++i) {
      std::string text;
      for (unsigned left = 5 + random.below(26); left > 0; --left)
        text += static_cast<char>('a' + random.below(26));
      ComputationGraph alone;
      answers.push_back(writer(alone, text));
      texts.push_back(std::move(text));
    }
  }
  std::vector<std::string> texts, answers;
};

struct Counts {
  std::atomic<std::uint64_t> good = 0, refused = 0, lost = 0, wrong = 0;
  bool are_perfect() const { return lost == 0 && wrong == 0; }
};

/// A client of a server on this machine. All calls block.
class Client {
 public:
  explicit Client(unsigned short port) : port_(port) { connect(); }

  /// Asks question i. A refusal (503, 504) is neither lost nor wrong.
  void ask(const Questions& questions, std::size_t i, Counts& counts) {
    i %= questions.texts.size();
    http::request<http::string_body> request(http::verb::post, "/", 11, questions.texts[i]);
    request.set(http::field::host, "localhost");
    request.prepare_payload();
    boost::system::error_code error;
    http::write(socket_, request, error);
    http::response<http::string_body> answer;
    http::read(socket_, buffer_, answer, error);
    if (error || !answer.keep_alive()) connect();
    if (error) {
      ++counts.lost;
    } else if (answer.result_int() == 503 || answer.result_int() == 504) {
      ++counts.refused;
    } else {
      const bool is_right = answer.result_int() == 200 && answer.body() == questions.answers[i];
      ++(is_right ? counts.good : counts.wrong);
    }
  }

 private:
  void connect() {
    buffer_.clear();
    socket_ = tcp::socket(io_);
    socket_.connect({boost::asio::ip::address_v4::loopback(), port_});
    socket_.set_option(tcp::no_delay(true));
    const timeval limit = {60, 0};
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }

  unsigned short port_;
  boost::asio::io_context io_{1};
  tcp::socket socket_{io_};
  boost::beast::flat_buffer buffer_;
};

/// A server in threads of its own, until it is stopped or destroyed.
class RunningServer {
 public:
  RunningServer(const Writer& writer, const serve::Options& options)
      : server_(std::cref(writer), options), thread_([this] { server_.run(); }) {}
  ~RunningServer() {
    server_.stop();
    thread_.join();
  }
  unsigned short port() const { return server_.port(); }

 private:
  serve::Server server_;
  std::thread thread_;
};

serve::Options options_of(std::size_t largest_batch) {
  serve::Options options;
  options.port = 0;
  options.stop_on_signals = false;
  options.largest_batch = largest_batch;
  options.queue_length = 4096;
  options.connections = 4096;
  options.deadline = std::chrono::seconds(60);
  return options;
}

/// Runs `threads` threads for `seconds`. Each calls f with its number and a flag that says whether
/// to go on.
void run_for(double seconds, unsigned threads,
             const std::function<void(unsigned, const std::atomic<bool>& goes_on)>& f) {
  std::atomic<bool> goes_on = true;
  std::vector<std::thread> all;
  for (unsigned i = 0; i < threads; ++i) all.emplace_back([&, i] { f(i, goes_on); });
  std::this_thread::sleep_for(Seconds(seconds));
  goes_on = false;
  for (std::thread& thread : all) thread.join();
}

/// Runs clients, each of which asks one question after the other. Returns answers per second.
double measure(const Settings& settings, const Writer& writer, const Questions& questions,
               std::size_t largest_batch, Counts& counts) {
  const RunningServer server(writer, options_of(largest_batch));
  std::vector<std::vector<double>> times(settings.clients);
  const auto begin = SteadyClock::now();
  run_for(settings.seconds, settings.clients,
          [&](unsigned number, const std::atomic<bool>& goes_on) {
            Client client(server.port());
            for (std::size_t i = 17 * number; goes_on; ++i) {
              const auto start = SteadyClock::now();
              client.ask(questions, i, counts);
              times[number].push_back(Seconds(SteadyClock::now() - start).count());
            }
          });
  const double took = Seconds(SteadyClock::now() - begin).count();
  std::vector<double> all;
  for (const auto& each : times) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end());
  const auto percentile = [&](double share) {
    return 1000 * all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  };
  const auto count = static_cast<double>(all.size());
  fmt::print("{:>13} {:>12.0f} {:>10.1f} {:>10.1f}\n", largest_batch, count / took, percentile(0.5),
             percentile(0.99));
  std::fflush(stdout);
  return count / took;
}

void run(int argc, char** argv) {
  Settings settings;
  bench::Options options(
      "A server and its clients, in one process on loopback: an LSTM reads a text, and another\n"
      "writes words. Prints answers per second, and the median and 99th percentile of response\n"
      "times, one by one and together. No answer may be lost, or differ by a bit from the answer "
      "to its request alone.");
  options
      .number("clients", settings.clients, 1, 2000,
              "number of clients, each of which asks one question after the other")
      .seconds(settings.seconds, "seconds per row")
      .number("hidden", settings.hidden, 1, 4096, "size of layers")
      .number("words", settings.words, 1, 1000000, "size of the vocabulary")
      .number("batch", settings.batch, 1, 4096, "largest batch of requests");
  if (!options.read(argc, argv)) return;

  const Writer writer(settings.hidden, settings.words);
  const Questions questions(writer);
  Counts counts;
  fmt::print("{:>13} {:>12} {:>10} {:>10}\n", "largest batch", "answers/s", "p50 ms", "p99 ms");
  const double alone = measure(settings, writer, questions, 1, counts);
  const double together = measure(settings, writer, questions, settings.batch, counts);
  fmt::print("{:.1f} times as many\n", together / alone);
  fmt::print("refused: {}, lost: {}, wrong bits: {}\n", counts.refused.load(), counts.lost.load(),
             counts.wrong.load());
  if (!counts.are_perfect()) throw std::runtime_error("answers were lost or wrong");
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("serve", [&] { run(argc, argv); });
}
