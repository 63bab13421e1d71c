// The part of explain() about the time of ops, if it was measured.
#include <algorithm>
#include <functional>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "dynet_like/core/counted.h"
#include "dynet_like/report/make_report.h"

namespace dynet_like::detail {

namespace {

constexpr std::size_t kMostTimes = 20;

struct Line {
  double seconds = 0;
  std::string what;
};

class Times {
 public:
  Times(std::ostream& out, double all) : out_(out), all_(all) {}

  void print(std::vector<Line> lines) const {
    std::ranges::stable_sort(lines, std::greater(), &Line::seconds);
    Line rest{0, counted(lines.size() - std::min(lines.size(), kMostTimes), "other")};
    for (std::size_t i = kMostTimes; i < lines.size(); ++i) rest.seconds += lines[i].seconds;
    lines.resize(std::min(lines.size(), kMostTimes));
    for (const Line& line : lines) print(line);
    if (rest.seconds > 0) print(rest);
  }
  void print(const Line& line) const {
    out_ << std::setw(12) << std::setprecision(3) << 1e3 * line.seconds << std::setw(8)
         << std::setprecision(1) << 100 * line.seconds / all_ << " %  " << line.what << '\n';
  }

 private:
  std::ostream& out_;
  double all_;
};

}  // namespace

void print_times(std::ostream& to, const Report& report) {
  std::vector<Line> types;
  double all = report.other_seconds;
  for (const Report::Type& type : report.types) {
    types.push_back({type.seconds, type.op + ' ' + type.shapes});
    all += type.seconds;
  }
  if (all == 0) return;
  std::ostringstream out;  // keeps the format of `out` unchanged
  out << std::fixed << std::setprecision(3) << "time: " << 1e3 * report.plan_seconds
      << " ms of planning, " << 1e3 * all << " ms in kernels\n"
      << "          ms   share  of kernels, by type\n";
  const Times times(out, all);
  times.print(std::move(types));
  times.print({report.other_seconds, "sums of gradients, packing of weights, copies"});
  to << out.str();
}

}  // namespace dynet_like::detail
