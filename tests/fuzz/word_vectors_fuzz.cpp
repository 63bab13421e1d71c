// Fuzzes the reader of word vectors: equal sizes, finite numbers, no more words than are announced.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "dynet_like/core/errors.h"
#include "nn/data/word_vectors.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Narrow limits, so that short inputs reach them.
  const dynet_like::nn::TextLimits limits = {.max_line_bytes = 1000, .max_file_bytes = 3000};
  std::istringstream stream(std::string(reinterpret_cast<const char*>(data), size));
  try {
    dynet_like::nn::WordVectorReader reader(stream, "fuzz", limits);
    std::size_t length = 0;
    while (reader.next()) {
      require(!reader.word().empty() && reader.word().find('\n') == std::string_view::npos);
      require(reader.word().front() != ' ' && reader.word().back() != ' ');
      require(length == 0 || reader.vector().size() == length);
      length = reader.vector().size();
      require(length > 0 && length <= 500 && length == reader.size());
      for (const float number : reader.vector()) require(std::isfinite(number));
    }
    require(!reader.next());
  } catch (const dynet_like::FileError& error) {
    require(error.file() == "fuzz");
  }
  return 0;
}
