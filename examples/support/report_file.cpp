// Writing of the JSON report.
#include "examples/support/report_file.h"

#include <nlohmann/json.hpp>

#include "dynet_like/io/atomic_file.h"

namespace dynet_like::examples {

void check_writable(const std::string& path) {
  if (!path.empty()) AtomicFile file(path);  // not committed, it leaves nothing behind
}

void write_report(const std::string& path, const nlohmann::json& results) {
  if (path.empty()) return;
  write_atomically(path, results.dump(2) + '\n');
}

}  // namespace dynet_like::examples
