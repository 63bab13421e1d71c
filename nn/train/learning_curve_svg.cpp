// LearningCurve::to_svg: a chart with two vertical scales, for losses and for scores.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "nn/train/learning_curve.h"
#include "dynet_like/core/xml_text.h"

namespace dynet_like::nn {

namespace {

// In pixels. The plot is the area between the axes.
constexpr double kWidth = 760, kHeight = 440;
constexpr double kLeft = 70, kRight = 690, kTop = 70, kBottom = 385;
constexpr double kMostDots = 60;        // with more epochs, lines have no dots
constexpr double kLargest = 1e100;      // larger values are not drawn
constexpr std::size_t kMostLabel = 40;  // bytes of a name in the legend

// Colours that people with any colour vision can distinguish (Okabe and Ito 2008).
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#000000"};

// The scale of a column. A learning rate is small beside scores, and has one of its own, from 0 to
// its largest value, without an axis.
enum Side { kLeftSide, kRightSide, kOwnScale, kSides };

Side side_of(const std::string& name) {
  if (name == "learning rate") return kOwnScale;
  return name.find("loss") != std::string::npos ? kLeftSide : kRightSide;
}

bool is_drawn(const std::optional<double>& value) { return value && std::abs(*value) < kLargest; }

/// The smallest step of 1, 2 or 5 times a power of ten that divides the range into at most `most`
/// steps.
double nice_step(double range, double most) {
  const double power = std::pow(10, std::floor(std::log10(range / most)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power * most >= range * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

/// Maps numbers from `low` to `high`, which are multiples of `step`, to pixels.
struct Scale {
  double low = 0, high = 1, step = 1, begin = 0, end = 1;

  double place(double value) const { return begin + (value - low) / (high - low) * (end - begin); }
  std::vector<double> ticks() const {
    std::vector<double> ticks;
    const auto count = static_cast<int>(std::lround((high - low) / step));
    for (int i = 0; i <= count; ++i) {
      const double tick = low + i * step;
      ticks.push_back(std::abs(tick) < step * 1e-6 ? 0 : tick);
    }
    return ticks;
  }
};

/// The vertical scale for these values.
Scale scale_of(double low, double high) {
  if (low > high) low = 0, high = 1;  // there are no values
  const double least = std::max(std::abs(low), std::abs(high)) * 1e-6;
  if (high - low <= least) {
    const double more = std::max(least, std::abs(low) * 0.1);
    low -= more > 0 ? more : 0.5;
    high += more > 0 ? more : 0.5;
  }
  const double step = nice_step(high - low, 6);
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, step, kBottom,
          kTop};
}

class Chart {
 public:
  explicit Chart(const LearningCurve& curve) : curve_(curve) {
    double low[kSides], high[kSides];
    std::fill(std::begin(low), std::end(low), std::numeric_limits<double>::infinity());
    std::fill(std::begin(high), std::end(high), -std::numeric_limits<double>::infinity());
    for (const std::string& name : curve.columns()) {
      const Side side = side_of(name);
      for (std::size_t epoch = 1; epoch <= curve.epochs(); ++epoch) {
        const auto value = curve.value(name, epoch);
        if (!is_drawn(value)) continue;
        low[side] = std::min(low[side], *value);
        high[side] = std::max(high[side], *value);
        used_[side] = true;
      }
    }
    for (const Side side : {kLeftSide, kRightSide}) {
      vertical_[side] = scale_of(low[side], high[side]);
    }
    largest_rate_ = std::max(0.0, high[kOwnScale]);
    vertical_[kOwnScale] = {0, largest_rate_ > 0 ? largest_rate_ : 1, 1, kBottom, kTop};
    const auto epochs = static_cast<double>(std::max<std::size_t>(curve.epochs(), 2));
    horizontal_ = {1, epochs, std::max(1.0, nice_step(epochs - 1, 12)), kLeft, kRight};
  }

  std::string draw(const std::string& title) {
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#333333\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        kWidth, kHeight);
    text(kWidth / 2, 26, "middle", title, " font-size=\"16\" font-weight=\"bold\"");
    axes();
    for (std::size_t i = 0; i < curve_.columns().size(); ++i) column(i);
    return svg_ + "</svg>\n";
  }

 private:
  void text(double x, double y, const char* anchor, const std::string& content,
            const std::string& attributes = "") {
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                        anchor, attributes, detail::xml_text(content));
  }
  void line(double x1, double y1, double x2, double y2, const char* colour) {
    svg_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1,
        x2, y2, colour);
  }

  void axes() {
    for (const Side side : {kLeftSide, kRightSide}) {
      const bool right = side == kRightSide;
      if (!used_[side] && (right || used_[kRightSide])) continue;
      const Scale& scale = vertical_[side];
      for (const double tick : scale.ticks()) {
        const double y = scale.place(tick);
        // Draws the grid for one scale only.
        if (!right || !has_both()) line(kLeft, y, kRight, y, "#e5e5e5");
        const double x = right ? kRight + 8 : kLeft - 8;
        text(x, y + 4.5, right ? "start" : "end", fmt::format("{:.6g}", tick));
      }
      line(right ? kRight : kLeft, kTop, right ? kRight : kLeft, kBottom, "#888888");
    }
    line(kLeft, kBottom, kRight, kBottom, "#888888");
    for (double epoch = horizontal_.step; epoch <= horizontal_.high; epoch += horizontal_.step) {
      const double x = horizontal_.place(epoch);
      line(x, kBottom, x, kBottom + 5, "#888888");
      text(x, kBottom + 20, "middle", fmt::format("{}", epoch));
    }
    text((kLeft + kRight) / 2, kBottom + 42, "middle", "epoch");
  }

  void column(std::size_t number) {
    const std::string& name = curve_.columns()[number];
    const char* const colour = kColours[number % std::size(kColours)];
    const Scale& scale = vertical_[side_of(name)];
    std::string path, dots;
    bool goes_on = false;
    for (std::size_t epoch = 1; epoch <= curve_.epochs(); ++epoch) {
      const auto value = curve_.value(name, epoch);
      if (is_drawn(value)) {
        const double x = horizontal_.place(static_cast<double>(epoch)), y = scale.place(*value);
        path += fmt::format("{}{:.1f} {:.1f}", goes_on ? " L" : " M", x, y);
        dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, y,
                            colour);
      }
      goes_on = is_drawn(value);
    }
    if (!path.empty()) {
      svg_ += fmt::format(
          "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" "
          "stroke-linejoin=\"round\"/>\n",
          path.substr(1), colour);
    }
    if (static_cast<double>(curve_.epochs()) <= kMostDots) svg_ += dots;
    legend(number, name, colour);
  }

  // The legend is one row above the plot.
  void legend(std::size_t number, const std::string& name, const char* colour) {
    const auto columns = static_cast<double>(curve_.columns().size());
    const double x = kLeft + static_cast<double>(number) * (kRight - kLeft) / columns;
    svg_ += fmt::format("<rect x=\"{:.1f}\" y=\"44\" width=\"14\" height=\"4\" fill=\"{}\"/>\n", x,
                        colour);
    text(x + 20, 50.5, "start", shortened(name) + scale_text(side_of(name)));
  }

  bool has_both() const { return used_[kLeftSide] && used_[kRightSide]; }
  std::string scale_text(Side side) const {
    if (side == kOwnScale) return fmt::format(" (up to {:.6g})", largest_rate_);
    if (!has_both()) return "";
    return side == kLeftSide ? " (left)" : " (right)";
  }

  static std::string shortened(const std::string& name) {
    return name.size() <= kMostLabel ? name : name.substr(0, kMostLabel) + "...";
  }

  const LearningCurve& curve_;
  bool used_[kSides] = {};
  double largest_rate_ = 0;
  Scale vertical_[kSides], horizontal_;
  std::string svg_;
};

}  // namespace

std::string LearningCurve::to_svg(const std::string& title) const {
  return Chart(*this).draw(title);
}

}  // namespace dynet_like::nn
