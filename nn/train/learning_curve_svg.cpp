// LearningCurve::to_svg: a chart with two vertical scales, for losses and for scores.
#include <algorithm>
#include <cmath>
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

bool is_loss(const std::string& name) { return name.find("loss") != std::string::npos; }

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
    double low[2], high[2];
    for (const bool right : {false, true}) {
      low[right] = std::numeric_limits<double>::infinity();
      high[right] = -low[right];
    }
    for (const std::string& name : curve.columns()) {
      for (std::size_t epoch = 1; epoch <= curve.epochs(); ++epoch) {
        const auto value = curve.value(name, epoch);
        if (!is_drawn(value)) continue;
        const bool right = !is_loss(name);
        low[right] = std::min(low[right], *value);
        high[right] = std::max(high[right], *value);
        used_[right] = true;
      }
    }
    for (const bool right : {false, true}) vertical_[right] = scale_of(low[right], high[right]);
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
    const bool both = used_[0] && used_[1];
    for (const bool right : {false, true}) {
      if (!used_[right] && (right || used_[1])) continue;
      const Scale& scale = vertical_[right];
      for (const double tick : scale.ticks()) {
        const double y = scale.place(tick);
        // Draws the grid for one scale only.
        if (!right || !both) line(kLeft, y, kRight, y, "#e5e5e5");
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
    const Scale& scale = vertical_[!is_loss(name)];
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
    const bool both = used_[0] && used_[1];
    const char* const side = !both ? "" : is_loss(name) ? " (left)" : " (right)";
    text(x + 20, 50.5, "start", shortened(name) + side);
  }

  static std::string shortened(const std::string& name) {
    return name.size() <= kMostLabel ? name : name.substr(0, kMostLabel) + "...";
  }

  const LearningCurve& curve_;
  bool used_[2] = {false, false};  // left and right
  Scale vertical_[2], horizontal_;
  std::string svg_;
};

}  // namespace

std::string LearningCurve::to_svg(const std::string& title) const {
  return Chart(*this).draw(title);
}

}  // namespace dynet_like::nn
