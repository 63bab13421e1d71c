// A model that serves while another of its kind is trained: its values are copied, and the new one
// takes its place between requests.
#include <future>
#include <thread>

#include "tests/serve/client.h"
#include "tests/support/precompiled.h"
#include "tests/support/walker.h"

namespace dynet_like::serve {
namespace {

using namespace serve::testing;
using dynet_like::testing::Walker;

/// A model with the number of its version, which nobody writes to.
struct Version {
  std::size_t number = 0;
  Walker walker;
};

/// The newest version.
class Newest {
 public:
  std::shared_ptr<const Version> get() const {
    const std::lock_guard lock(mutex_);
    return version_;
  }
  void set(std::shared_ptr<const Version> version) {
    const std::lock_guard lock(mutex_);
    version_.swap(version);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Version> version_;
};

/// Is set where a block ends, also where something is thrown: clients would wait for it for ever.
struct AtEnd {
  std::atomic<bool>& is_over;
  ~AtEnd() { is_over = true; }
};

// Requests are answered by one version from their beginning to their end.
TEST(SwapTest, ServesWhileItIsTrained) {
  Walker trained;
  std::vector<std::shared_ptr<const Version>> versions;
  Newest newest;
  const auto publish = [&] {
    const auto version = std::make_shared<Version>();
    version->number = versions.size();
    copy_values(trained.model, version->walker.model);
    versions.push_back(version);
    newest.set(version);
  };
  publish();
  RunningServer server(
      [&](ComputationGraph& graph, const std::string& text) {
        const auto version = newest.get();  // until the answer is there
        return std::to_string(version->number) + ": " + walk(version->walker, graph, text);
      },
      {.graph = {.threads = 2}});
  std::atomic<bool> is_trained = false;
  std::vector<std::future<std::vector<std::string>>> clients;
  for (unsigned c = 0; c < 3; ++c) {
    clients.push_back(std::async(std::launch::async, [&server, &is_trained, c] {
      std::vector<std::string> answers;
      for (unsigned i = 0; i < 5 || !is_trained; ++i) {
        answers.push_back(post(server.port(), std::to_string(3 * (i % 7) + c)).body());
      }
      return answers;
    }));
  }
  {
    const AtEnd clients_end{is_trained};
    AdamTrainer trainer(trained.model, 0.05f);
    trainer.sparse_updates = SparseUpdates::exact;
    for (unsigned update = 1; update <= 40; ++update) {
      Minibatch batch;
      for (unsigned i = 0; i < 4; ++i) batch.add_loss(trained.walk(batch.new_graph(), i).loss);
      batch.forward();
      trainer.update(batch.backward());
      if (update % 4 == 0) publish();
    }
  }
  std::size_t last = 0, count = 0;
  for (unsigned c = 0; c < clients.size(); ++c) {
    const std::vector<std::string> answers = clients[c].get();
    for (unsigned i = 0; i < answers.size(); ++i) {
      std::size_t end = 0;
      const std::size_t number = std::stoul(answers[i], &end);
      ComputationGraph alone;
      ASSERT_EQ(answers[i].substr(end + 2),
                walk(versions.at(number)->walker, alone, std::to_string(3 * (i % 7) + c)))
          << "version " << number;
      last = std::max(last, number);
      ++count;
    }
  }
  EXPECT_GT(count, 14u);
  EXPECT_GT(last, 0u);
}

}  // namespace
}  // namespace dynet_like::serve
