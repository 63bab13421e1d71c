// A user's server, which stops as soon as it serves.
#include <cstdio>

#include "dynet_like/serve/server.h"

using namespace dynet_like;

int main() {
  serve::Server server([](ComputationGraph&, const std::string& request) { return request; },
                       {.port = 0});
  server.stop();
  server.run();
  std::printf("port %u\n", unsigned{server.port()});
  return server.port() == 0 ? 1 : 0;
}
