// How much a server gains by running requests together, and how attacks affect it. Every answer is
// counted, and compared with the bits of its request alone.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/serve/client.h"
#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "dynet_like/serve/server.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using bench::Client;
using Seconds = std::chrono::duration<double>;
using SteadyClock = std::chrono::steady_clock;

struct Settings {
  unsigned clients = 200, hidden = 256, words = 10000, batch = 64, connections = 0;
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

/// Asks question i. A refusal (503, 504) is neither lost nor wrong.
void ask(Client& client, const Questions& questions, std::size_t i, Counts& counts) {
  i %= questions.texts.size();
  const auto answer = client.ask(questions.texts[i]);
  if (!answer.has_value()) {
    ++counts.lost;
  } else if (answer->status == 503 || answer->status == 504) {
    ++counts.refused;
  } else {
    const bool is_right = answer->status == 200 && answer->text == questions.answers[i];
    ++(is_right ? counts.good : counts.wrong);
  }
}

/// A server in threads of its own, until it is stopped or destroyed.
class RunningServer {
 public:
  RunningServer(const Writer& writer, const serve::Options& options)
      : server_(std::cref(writer), options), thread_([this] {
          server_.run();
          timespec used = {};
          clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
          handler_seconds_ =
              static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
        }) {}
  ~RunningServer() { stop(); }
  unsigned short port() const { return server_.port(); }
  /// Returns the processor time of the thread that runs handlers.
  double stop() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
    return handler_seconds_;
  }

 private:
  serve::Server server_;
  double handler_seconds_ = 0;
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

/// Answers per second.
struct Speed {
  double of_clock, of_handler;  ///< by the clock; by the handlers' thread
};

/// Runs clients, each of which asks one question after the other.
Speed measure(const Settings& settings, const Writer& writer, const Questions& questions,
              std::size_t largest_batch, Counts& counts) {
  RunningServer server(writer, options_of(largest_batch));
  std::vector<std::vector<double>> times(settings.clients);
  const auto begin = SteadyClock::now();
  run_for(settings.seconds, settings.clients,
          [&](unsigned number, const std::atomic<bool>& goes_on) {
            Client client(server.port());
            for (std::size_t i = 17 * number; goes_on; ++i) {
              const auto start = SteadyClock::now();
              ask(client, questions, i, counts);
              times[number].push_back(Seconds(SteadyClock::now() - start).count());
            }
          });
  const double took = Seconds(SteadyClock::now() - begin).count();
  const double used = server.stop();
  std::vector<double> all;
  for (const auto& each : times) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end());
  const auto percentile = [&](double share) {
    return 1000 * all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  };
  const auto count = static_cast<double>(all.size());
  std::printf("%13zu %12.0f %12.0f %10.1f %10.1f\n", largest_batch, count / took, count / used,
              percentile(0.5), percentile(0.99));
  std::fflush(stdout);
  return {count / took, count / used};
}

/// The memory of this process, in bytes.
std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident << 12;
}

// Attackers: each opens a connection, and misuses it.

void vanish(Client& client, const Questions& questions, unsigned i) {
  client.send_request(questions.texts[i % questions.texts.size()]);
  client.close(i % 2 == 0);
}
void send_garbage(Client& client, Random& random) {
  std::string bytes(1 + random.below(3000), ' ');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  if (random.below(2) == 0) bytes = "POST / HTTP/1.1\r\n" + bytes;
  client.send(bytes);
  client.close(random.below(2) == 0);
}

/// Keeps many connections open, which send half a request, or a whole one without reading the
/// answer.
void be_slow(unsigned short port, const Questions& questions, const std::atomic<bool>& goes_on) {
  std::vector<Client> clients;
  for (unsigned i = 0; i < 100 && goes_on; ++i) {
    Client& client = clients.emplace_back(port);
    i % 2 == 0 ? client.send("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab")
               : client.send_request(questions.texts[i]);
  }
  while (goes_on) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

/// Clients ask as before while others attack, and one client opens one connection after the other.
void attack(const Settings& settings, const Writer& writer, const Questions& questions,
            Counts& counts) {
  serve::Options options = options_of(settings.batch);
  options.client_timeout = std::chrono::seconds(5);
  const RunningServer server(writer, options);
  Counts one_by_one;
  std::atomic<std::uint64_t> attacks = 0;
  const std::size_t bytes = resident_bytes();
  std::atomic<bool> goes_on = true;
  std::vector<std::thread> threads;
  const auto repeat = [&](auto f) {
    threads.emplace_back([&, f]() mutable {
      for (unsigned i = 0; goes_on; ++i) f(i);
    });
  };
  for (unsigned number = 0; number < 8; ++number) {
    threads.emplace_back([&, number] {
      Client client(server.port());
      for (std::size_t i = 17 * number; goes_on; ++i) ask(client, questions, i, counts);
    });
  }
  repeat([&](unsigned i) {
    Client client(server.port());
    vanish(client, questions, i);
    ++attacks;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  repeat([&, random = Random(7)](unsigned) mutable {
    Client client(server.port());
    send_garbage(client, random);
    ++attacks;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  threads.emplace_back([&] { be_slow(server.port(), questions, goes_on); });
  for (unsigned i = 0; i < settings.connections; ++i) {
    Client client(server.port());
    ask(client, questions, i, one_by_one);
  }
  goes_on = false;
  for (std::thread& thread : threads) thread.join();
  std::printf(
      "under attack: %llu answers to 8 clients, %llu to %u connections one by one, "
      "%llu attacks, memory %+.1f MB\n",
      static_cast<unsigned long long>(counts.good),
      static_cast<unsigned long long>(one_by_one.good), settings.connections,
      static_cast<unsigned long long>(attacks),
      (static_cast<double>(resident_bytes()) - static_cast<double>(bytes)) / 1e6);
  counts.lost += one_by_one.lost;
  counts.wrong += one_by_one.wrong;
  counts.refused += one_by_one.refused;
}

void run(int argc, char** argv) {
  Settings settings;
  bench::Options options(
      "A server and its clients, in one process on loopback: an LSTM reads a text, and another\n"
      "writes words. Prints answers per second, and per second of processor time of the thread\n"
      "that runs handlers, and the median and 99th percentile of response times, one by one and\n"
      "together. With --connections instead: clients vanish, are slow or send garbage while "
      "others\n"
      "ask, and so many connections come one after the other. No answer may be lost, or differ by\n"
      "a bit from the answer to its request alone.");
  options
      .number("clients", settings.clients, 1, 2000,
              "number of clients, each of which asks one question after the other")
      .seconds(settings.seconds, "seconds per row")
      .number("hidden", settings.hidden, 1, 4096, "size of layers")
      .number("words", settings.words, 1, 1000000, "size of the vocabulary")
      .number("batch", settings.batch, 1, 4096, "largest batch of requests")
      .number("connections", settings.connections, 0, 10000000,
              "above 0: attack the server, with so many connections");
  if (!options.read(argc, argv)) return;

  const Writer writer(settings.hidden, settings.words);
  const Questions questions(writer);
  Counts counts;
  if (settings.connections > 0) {
    attack(settings, writer, questions, counts);
  } else {
    std::printf("%13s %12s %12s %10s %10s\n", "largest batch", "answers/s", "/s of thread",
                "p50 ms", "p99 ms");
    const Speed alone = measure(settings, writer, questions, 1, counts);
    const Speed together = measure(settings, writer, questions, settings.batch, counts);
    std::printf("%.1f times as many, per second of processor time %.1f times\n",
                together.of_clock / alone.of_clock, together.of_handler / alone.of_handler);
  }
  std::printf("refused: %llu, lost: %llu, wrong bits: %llu\n",
              static_cast<unsigned long long>(counts.refused),
              static_cast<unsigned long long>(counts.lost),
              static_cast<unsigned long long>(counts.wrong));
  if (!counts.are_perfect()) throw std::runtime_error("answers were lost or wrong");
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("serve", [&] { run(argc, argv); });
}
