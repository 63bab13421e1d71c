// What a report tells of time: by type, and nothing else is different.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

class ReportTimesTest : public ::testing::Test {
 protected:
  Report run(bool measure_time, unsigned threads = 1) {
    Minibatch batch({.threads = threads, .measure_time = measure_time});
    for (unsigned n = 1; n <= 40; ++n) {
      ComputationGraph& graph = batch.new_graph();
      Expression h = input(graph, Dim({kSize}), std::vector<float>(kSize, 0.1f));
      for (unsigned i = 0; i < 8; ++i) {
        h = tanh(affine_transform({parameter(graph, b), parameter(graph, w), h}));
      }
      batch.add_loss(sum_elems(h));
    }
    batch.forward();
    batch.backward();
    return batch.explain();
  }
  static std::string text_of(const Report& report) {
    std::ostringstream text;
    text << report;
    return text.str();
  }

  static constexpr unsigned kSize = 64;
  ParameterCollection model;
  Parameter w = model.add_parameters({kSize, kSize}), b = model.add_parameters({kSize});
};

TEST_F(ReportTimesTest, AddUp) {
  for (unsigned threads : {1u, 2u}) {
    const Report report = run(true, threads);
    double seconds = report.other_seconds;
    for (const Report::Type& type : report.types) {
      EXPECT_GT(type.seconds, 0) << type.op;
      seconds += type.seconds;
    }
    EXPECT_GT(report.other_seconds, 0);  // gradients of weights
    EXPECT_GE(seconds, report.kernel_seconds - 1e-9);
    EXPECT_LE(seconds, threads * report.kernel_seconds + 1e-9);
  }
}

TEST_F(ReportTimesTest, AreSortedWithTheirShares) {
  Report report;
  report.types.resize(3);
  report.types[0].op = "tanh", report.types[0].seconds = 0.1;
  report.types[1].op = "exp", report.types[1].seconds = 0.5;
  report.types[2].op = "log", report.types[2].seconds = 0.3;
  report.other_seconds = 0.1;
  report.plan_seconds = 0.25;
  const std::string text = text_of(report);
  EXPECT_TRUE(mentions(text,
                       "time: 250.000 ms of planning, 1000.000 ms in kernels\n"
                       "          ms   share  of kernels, by type\n"
                       "     500.000    50.0 %  exp \n"
                       "     300.000    30.0 %  log \n"
                       "     100.000    10.0 %  tanh \n"
                       "     100.000    10.0 %  sums of gradients, packing of weights, copies\n"));
}

TEST_F(ReportTimesTest, AreAllThatIsDifferent) {
  const Report without = run(false);
  EXPECT_EQ(without.kernel_seconds, 0);
  EXPECT_EQ(without.plan_seconds, 0);
  EXPECT_EQ(without.other_seconds, 0);
  std::string text = text_of(run(true));
  const std::size_t begin = text.find("time: ");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t last = text.rfind(" %  ");
  ASSERT_GT(last, begin);
  text.erase(begin, text.find('\n', last) + 1 - begin);
  EXPECT_EQ(text, text_of(without));
}

}  // namespace
}  // namespace dynet_like
