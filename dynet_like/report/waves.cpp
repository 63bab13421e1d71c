// The part of explain() about the waves of for_each_sample.
#include <algorithm>
#include <iomanip>
#include <ostream>

#include "dynet_like/core/counted.h"
#include "dynet_like/report/report.h"

namespace dynet_like {

namespace {

constexpr std::size_t kLines = 10;

}  // namespace

void print_waves(std::ostream& out, const Report& report) {
  if (report.waves.empty()) return;
  Report::Wave sum;
  for (const Report::Wave& wave : report.waves) {
    sum.samples += wave.samples;
    sum.nodes += wave.nodes;
    sum.batches += wave.batches;
  }
  const auto per_wave = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(report.waves.size());
  };
  const std::streamsize precision = out.precision(1);
  out << detail::counted(report.wave_count, "wave")
      << " of samples that waited for values; on average " << std::fixed << per_wave(sum.samples)
      << " samples, " << per_wave(sum.nodes) << " nodes, " << per_wave(sum.batches) << " batches\n"
      << std::defaultfloat;
  out.precision(precision);
  const std::size_t lines = std::min(kLines, report.waves.size());
  for (std::size_t line = 0; line < lines; ++line) {
    // The lines show waves at equal distances, from the first to the last.
    const std::size_t i = lines == 1 ? 0 : line * (report.waves.size() - 1) / (lines - 1);
    const Report::Wave& wave = report.waves[i];
    out << "  wave " << std::setw(6) << i << ": " << std::setw(6) << wave.samples << ' '
        << detail::noun_for(wave.samples, "sample") << ", " << std::setw(8) << wave.nodes << ' '
        << detail::noun_for(wave.nodes, "node") << ", " << std::setw(6) << wave.batches << ' '
        << detail::noun_for(wave.batches, "batch", "batches") << '\n';
  }
}

}  // namespace dynet_like
