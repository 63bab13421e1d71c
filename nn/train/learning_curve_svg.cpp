// LearningCurve::to_svg: a plot for each column, one below the other, with a scale of its own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "dynet_like/core/xml_text.h"
#include "nn/train/learning_curve.h"

namespace dynet_like::nn {

namespace {

// In pixels. A plot is the area from kLeft to kRight, kTop to kBottom below the top of its row.
constexpr double kWidth = 760, kRow = 150, kHeader = 40, kFooter = 40;
constexpr double kLeft = 90, kRight = 740, kTop = 26, kBottom = 130;
constexpr double kMostDots = 60;        // with more epochs, lines have no dots
constexpr double kLargest = 1e100;      // larger values are not drawn
constexpr std::size_t kMostTitle = 80;  // bytes of a name
constexpr const char *kColour = "#0072b2", *kAxis = "#888888";

bool is_drawn(const std::optional<double>& value) { return value && std::abs(*value) < kLargest; }

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     detail::xml_text(text));
}

std::string line(double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, kAxis);
}

double x_of(std::size_t epoch, std::size_t epochs) {
  const auto last = static_cast<double>(std::max<std::size_t>(epochs, 2));
  return kLeft + (static_cast<double>(epoch) - 1) / (last - 1) * (kRight - kLeft);
}

/// The plot of a column whose row begins at `top`.
std::string plot(const LearningCurve& curve, const std::string& name, double top) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::size_t epoch = 1; epoch <= curve.epochs(); ++epoch) {
    const auto value = curve.value(name, epoch);
    if (!is_drawn(value)) continue;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  std::string title = name.substr(0, kMostTitle), path, dots;
  if (name.size() > kMostTitle) title += "...";
  bool goes_on = false;
  for (std::size_t epoch = 1; epoch <= curve.epochs(); ++epoch) {
    const auto value = curve.value(name, epoch);
    if (is_drawn(value)) {
      const double share = high > low ? (*value - low) / (high - low) : 0.5;
      const double x = x_of(epoch, curve.epochs());
      const double y = top + kBottom - share * (kBottom - kTop);
      path += fmt::format("{}{:.1f} {:.1f}", goes_on ? " L" : " M", x, y);
      dots +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, y, kColour);
    }
    goes_on = is_drawn(value);
  }
  std::string svg = text_at(kLeft, top + kTop - 8, "start", title);
  svg += line(kLeft, top + kTop, kLeft, top + kBottom);
  svg += line(kLeft, top + kBottom, kRight, top + kBottom);
  if (path.empty()) return svg;
  svg += text_at(kLeft - 8, top + kTop + 4.5, "end", fmt::format("{:.6g}", high));
  if (high > low) svg += text_at(kLeft - 8, top + kBottom + 4.5, "end", fmt::format("{:.6g}", low));
  svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                     path.substr(1), kColour);
  return static_cast<double>(curve.epochs()) <= kMostDots ? svg + dots : svg;
}

}  // namespace

std::string LearningCurve::to_svg(const std::string& title) const {
  const double bottom = kHeader + kRow * static_cast<double>(columns().size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"13\" fill=\"#333333\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      kWidth, bottom + kFooter);
  svg += text_at(kWidth / 2, 24, "middle", title);
  double top = kHeader;
  for (const std::string& name : columns()) {
    svg += plot(*this, name, top);
    top += kRow;
  }
  svg += text_at((kLeft + kRight) / 2, bottom + 20, "middle", "epoch");
  svg += text_at(kLeft, bottom + 20, "middle", "1");
  if (epochs() > 1) svg += text_at(kRight, bottom + 20, "middle", fmt::to_string(epochs()));
  return svg + "</svg>\n";
}

}  // namespace dynet_like::nn
