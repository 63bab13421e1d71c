// Fuzzes the reader of learning curves: what it reads must be written and read again as the same,
// and drawn without coordinates that are no numbers.
#include <string>
#include <string_view>

#include "nn/train/learning_curve.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

using nn::LearningCurve;

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

void run(const std::string& input) {
  may_refuse([&] { check(input); });
}

}  // namespace dynet_like::fuzz
