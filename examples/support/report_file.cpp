// Writing of the JSON report.
#include "examples/support/report_file.h"

#include <span>

#include <nlohmann/json.hpp>

#include "dynet_like/io/atomic_file.h"

namespace dynet_like::examples {

void check_report_path(const std::string& path) {
  if (!path.empty()) AtomicFile file(path);  // not committed, it leaves nothing behind
}

void write_report(const std::string& path, const nlohmann::json& results) {
  if (path.empty()) return;
  const std::string text = results.dump(2) + '\n';
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace dynet_like::examples
