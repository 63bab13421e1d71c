// Clients of others, which a server must satisfy.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "dynet_like/dynet_like.h"
#include "tests/serve/client.h"
#include "tests/support/python.h"

namespace dynet_like::serve {
namespace {

using namespace serve::testing;

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
