// Communicators: bytes between ranks, and what comes of ranks that are gone or hang.
#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/communicator.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Bytes = Communicator::Bytes;
using namespace std::chrono_literals;

Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Different lengths, nothing at all among them, many times over.
void exchange_texts(Communicator& ranks) {
  std::vector<Bytes> to(ranks.size());
  Communicator::Round sent;
  for (int round = 0; round < 50; ++round) {
    const auto text = [&](unsigned sender, unsigned receiver) {
      return std::string((sender * 7 + receiver * 3 + static_cast<unsigned>(round)) % 5,
                         static_cast<char>('a' + sender));
    };
    for (unsigned r = 0; r < ranks.size(); ++r) to[r] = bytes_of(text(ranks.rank(), r));
    sent.to.assign(to.begin(), to.end());
    ranks.begin(sent);
    ranks.end(sent);
    ASSERT_EQ(sent.from.size(), ranks.size());
    for (unsigned r = 0; r < ranks.size(); ++r) {
      EXPECT_EQ(sent.from[r], bytes_of(text(r, ranks.rank())));
    }
    const auto texts = gather_texts(ranks, text(ranks.rank(), 0));
    for (unsigned r = 0; r < ranks.size(); ++r) EXPECT_EQ(texts[r], text(r, 0));
    Bytes word = bytes_of(ranks.rank() == 0 ? "from the first" : "other");
    broadcast(ranks, word);
    EXPECT_EQ(word, bytes_of("from the first"));
  }
}

TEST(CommunicatorTest, ExchangesBytes) {
  exchange_texts(*single_process());
  for (unsigned count = 1; count <= 5; ++count) {
    run_ranks(count, [](const auto& ranks) { exchange_texts(*ranks); });
  }
}

// Of very different sizes, which MPI sends in different ways.
void exchange_rounds_at_once(Communicator& ranks) {
  constexpr std::size_t kRounds = 6;
  const auto text = [](unsigned from, unsigned to, std::size_t round) {
    return std::string(round % 2 == 0 ? 1'000'000 + from : to * round,
                       static_cast<char>('a' + round));
  };
  std::vector<std::string> texts;
  texts.reserve(kRounds * ranks.size());
  std::vector<Communicator::Round> rounds(kRounds);
  for (std::size_t i = 0; i < kRounds; ++i) {
    for (unsigned r = 0; r < ranks.size(); ++r) {
      texts.push_back(text(ranks.rank(), r, i));
      rounds[i].to.push_back(std::as_bytes(std::span(texts.back())));
    }
    ranks.begin(rounds[i]);
    ranks.progress();
  }
  for (std::size_t i = 0; i < kRounds; ++i) {
    ranks.end(rounds[i]);
    ASSERT_EQ(rounds[i].from.size(), ranks.size());
    for (unsigned r = 0; r < ranks.size(); ++r) {
      EXPECT_EQ(rounds[i].from[r], bytes_of(text(r, ranks.rank(), i)));
    }
  }
}

TEST(CommunicatorTest, HasSeveralRoundsOnTheirWay) {
  exchange_rounds_at_once(*single_process());
  for (unsigned count = 1; count <= 4; ++count) {
    run_ranks(count, [](const auto& ranks) { exchange_rounds_at_once(*ranks); });
  }
}

// Each rank sends to all, itself too; messages of a pair come in their order.
void send_messages(Communicator& ranks) {
  constexpr unsigned kMessages = 40;
  const auto text = [](unsigned from, unsigned i) {
    return std::string(i % 7 == 0 ? 100'000 : i, static_cast<char>('a' + from));
  };
  for (unsigned i = 0; i < kMessages; ++i) {
    for (unsigned to = 0; to < ranks.size(); ++to) ranks.send(to, bytes_of(text(ranks.rank(), i)));
  }
  std::vector<unsigned> came(ranks.size(), 0);
  for (unsigned all = 0; all < ranks.size() * kMessages || ranks.is_sending();) {
    const auto message = ranks.receive();
    if (!message) continue;
    EXPECT_EQ(message->bytes, bytes_of(text(message->from, came[message->from]++)));
    ++all;
  }
  EXPECT_FALSE(ranks.receive().has_value());
  gather_texts(ranks, "the end");
}

TEST(CommunicatorTest, SendsMessages) {
  send_messages(*single_process());
  for (unsigned count = 1; count <= 4; ++count) {
    run_ranks(count, [](const auto& ranks) { send_messages(*ranks); });
  }
}

TEST(CommunicatorTest, NamesARankThatHangs) {
  const auto ranks = thread_ranks(3, 50ms);
  std::thread other([&] { EXPECT_THROW(gather_texts(*ranks[2], ""), RankError); });
  EXPECT_EQ(message_of<RankError>([&] { gather_texts(*ranks[0], ""); }),
            "[Communicator] need all ranks within 50 ms; got none of rank 1 (thread)");
  other.join();
  EXPECT_THROW(gather_texts(*ranks[1], ""), RankError);
}

TEST(CommunicatorTest, SaysWhyARankHasFailed) {
  auto ranks = thread_ranks(2, 60s);
  std::thread other([&] { ranks[1]->fail("out of paper"); });
  EXPECT_EQ(message_of<RankError>([&] { gather_texts(*ranks[0], ""); }),
            "[Communicator] need all ranks; got none of rank 1 (thread): out of paper");
  other.join();
  ranks = thread_ranks(2, 60s);
  ranks[1] = nullptr;
  EXPECT_EQ(message_of<RankError>([&] { gather_texts(*ranks[0], ""); }),
            "[Communicator] need all ranks; got none of rank 1 (thread): it has ended");
  EXPECT_THROW(thread_ranks(0), UsageError);
}

}  // namespace
}  // namespace dynet_like
