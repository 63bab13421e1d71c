// Fuzzes the reader of learning curves: what it reads must be written and read again as the same,
// and drawn without coordinates that are no numbers.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dynet_like/core/errors.h"
#include "nn/train/learning_curve.h"

namespace {

using dynet_like::nn::LearningCurve;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::string_view text) {
  const LearningCurve read = LearningCurve::from_csv(text, "fuzz");
  const std::string written = read.to_csv();
  const LearningCurve again = LearningCurve::from_csv(written, "again");
  require(again.epochs() == read.epochs() && again.columns() == read.columns());
  require(again.to_csv() == written);
  const std::string svg = read.to_svg();
  for (const char* wrong : {"=\"nan", "=\"inf", "=\"-nan", "=\"-inf"}) {
    require(svg.find(wrong) == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check({reinterpret_cast<const char*>(data), size});
  } catch (const dynet_like::FileError& error) {
    require(error.file() == "fuzz");
  }
  return 0;
}
