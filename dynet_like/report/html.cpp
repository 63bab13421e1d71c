// A report as a page for browsers.
#include <fmt/format.h>

#include <algorithm>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/xml_text.h"
#include "dynet_like/report/report.h"

namespace dynet_like {

namespace {

using detail::xml_text;

constexpr std::string_view kBeginning = R"(<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>How nodes were batched</title>
<style>
:root { --ink: #1d2433; --faint: #667085; --line: #e4e7ec; --page: #fff; --bar: #3b6fd4; --saved: #e8953c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --faint: #98a2b3; --line: #343b48; --page: #151922; --bar: #6f9bf0; --saved: #e8a95c; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
       max-width: 68rem; margin: 2.5rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; margin: 2.5rem 0 .5rem; }
p { margin: .25rem 0; color: var(--faint); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { font-weight: 500; color: var(--faint); font-size: .85rem; }
th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.n { text-align: right; white-space: nowrap; }
.bar { width: 30%; min-width: 8rem; padding-top: .7rem; }
.bar i { display: block; height: .7rem; border-radius: 2px; background: var(--bar); min-width: 1px; }
.bar .saved { background: var(--saved); }
article .bar { width: 100%; }
code, .place { font: .85em ui-monospace, monospace; overflow-wrap: anywhere; }
small, .place { color: var(--faint); }
article { border-top: 1px solid var(--line); padding: .9rem 0; display: grid; grid-template-columns: 11rem 1fr; gap: 0 1.5rem; }
article b { font-size: 1.3rem; font-weight: 600; }
article p { color: inherit; }
.waves { display: flex; align-items: flex-end; height: 7rem; gap: 1px; border-bottom: 1px solid var(--line); }
.waves i { flex: 1; min-width: 1px; background: var(--bar); }
</style>
)";

// With a space between thousands.
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, "\u202f");
  return text;
}

std::string grouped(std::uint64_t number, std::string_view noun, std::string_view plural = {}) {
  return grouped(number) + ' ' + detail::noun_for(number, noun, plural);
}

std::string bytes(std::uint64_t count) {
  const auto number = static_cast<double>(count);
  if (count < 10'000) return grouped(count, "byte");
  return count < 10'000'000 ? fmt::format("{:.0f} kB", number / 1e3)
                            : fmt::format("{:.0f} MB", number / 1e6);
}

std::string time_of(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} µs", 1e6 * seconds);
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

double measured_seconds(const Report& report) {
  double sum = report.other_seconds;
  for (const Report::Type& type : report.types) sum += type.seconds;
  return sum;
}

struct Bar {
  std::string what;
  double part = 0;
  std::vector<std::string> numbers;
};

std::string row_of(const std::string& what, double share, const std::string& bar,
                   const std::vector<std::string>& numbers, std::size_t columns) {
  std::string text =
      fmt::format("<tr><td>{}<td class=bar>{}<td class=n>{:.1f} %", what, bar, share);
  for (std::size_t i = 0; i < columns; ++i) {
    text += "<td class=n>" + (i < numbers.size() ? numbers[i] : "");
  }
  return text + '\n';
}

// The largest parts of the whole, and one row for the rest.
std::string table_of(std::vector<Bar> bars, double all, const std::vector<std::string>& columns) {
  constexpr std::size_t kMostBars = 20;
  std::ranges::stable_sort(bars, std::ranges::greater(), &Bar::part);
  std::string text = "<table><tr><th>operation and shapes (* shared)<th><th class=n>share";
  for (const std::string& column : columns) text += "<th class=n>" + column;
  text += '\n';
  double rest = 0;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double share = all > 0 ? 100 * bars[i].part / all : 0;
    if (i >= kMostBars) {
      rest += share;
    } else {
      const std::string bar = fmt::format("<i style=\"width:{:.1f}%\"></i>", share);
      text += row_of(bars[i].what, share, bar, bars[i].numbers, columns.size());
    }
  }
  if (bars.size() > kMostBars) {
    text += row_of(detail::counted(bars.size() - kMostBars, "other"), rest, "", {}, columns.size());
  }
  return text + "</table>\n";
}

// A bar per type: its share of the time or, if no time was measured, of the kernel calls.
std::string part_of_costs(const Report& report) {
  const double seconds = measured_seconds(report);
  const bool is_measured = seconds > 0;
  std::vector<Bar> bars;
  for (const Report::Type& type : report.types) {
    const std::uint64_t calls = type.forward_calls + type.backward_calls;
    std::vector<std::string> numbers = {grouped(calls), grouped(type.nodes), grouped(type.batches),
                                        grouped(type.bound)};
    if (is_measured) numbers.insert(numbers.begin(), time_of(type.seconds));
    bars.push_back(
        {"<code>" + xml_text(type.op) + "</code> <small>" + xml_text(type.shapes) + "</small>",
         is_measured ? type.seconds : static_cast<double>(calls), numbers});
  }
  const std::vector<std::string> counts = {"calls", "nodes", "batches", "at least"};
  if (!is_measured) {
    return "<h2>Where kernel calls go</h2>\n<p>GraphOptions::measure_time shows times "
           "here.</p>\n" +
           table_of(std::move(bars), static_cast<double>(report.kernel_calls), counts);
  }
  bars.push_back({"sums of gradients, packing of weights, copies",
                  report.other_seconds,
                  {time_of(report.other_seconds)}});
  std::vector<std::string> columns = {"time"};
  columns.insert(columns.end(), counts.begin(), counts.end());
  return "<h2>Where the time goes</h2>\n<p>" + time_of(seconds) + " in kernels, " +
         time_of(report.plan_seconds) + " of planning.</p>\n" +
         table_of(std::move(bars), seconds, columns);
}

std::string article_of(const Report::MissedMerge& merge) {
  const double share = merge.batches == 0 ? 0
                                          : 100 * static_cast<double>(merge.saved_batches) /
                                                static_cast<double>(merge.batches);
  std::string text = fmt::format(
      "<article><div><b>{}</b> of {}<br><small>batches saved</small><div class=bar><i class=saved "
      "style=\"width:{:.1f}%\"></i></div><small>{} kernel calls{}</small></div>\n",
      grouped(merge.saved_batches), grouped(merge.batches), share, grouped(merge.saved_calls),
      merge.seconds > 0 ? ", " + time_of(merge.saved_seconds) : "");
  text += fmt::format(
      "<div><code>{}</code>{} <small>{} of {} type{}</small>\n<p>Split by "
      "<strong>{}</strong>: {}.</p>\n<p><small>Instead:</small> {}.</p>\n",
      xml_text(merge.op), merge.label.empty() ? "" : " “" + xml_text(merge.label) + "”",
      grouped(merge.nodes, "node"), grouped(merge.types), merge.types == 1 ? "" : "s",
      xml_text(merge.field), xml_text(merge.difference), xml_text(merge.advice));
  for (const std::string& place : merge.places) {
    text += "<div class=place>" + xml_text(place) + "</div>\n";
  }
  return text + "</div></article>\n";
}

std::string part_of_merges(const Report& report) {
  std::string text = "<h2>What did not batch, and what to write instead</h2>\n";
  if (report.missed_merges.empty()) return text + "<p>Nothing was found.</p>\n";
  text += "<p>Most expensive first. Savings are upper bounds.";
  const auto is_known = [](const Report::MissedMerge& merge) { return !merge.places.empty(); };
  if (std::ranges::none_of(report.missed_merges, is_known)) {
    text += " GraphOptions::record_places shows files and lines here.";
  }
  text += "</p>\n";
  for (const Report::MissedMerge& merge : report.missed_merges) text += article_of(merge);
  return text;
}

std::string part_of_waves(const Report& report) {
  constexpr std::size_t kMostBars = 400;
  if (report.waves.empty()) return "";
  const std::size_t each = (report.waves.size() + kMostBars - 1) / kMostBars;
  std::vector<std::uint64_t> batches((report.waves.size() + each - 1) / each);
  for (std::size_t i = 0; i < report.waves.size(); ++i) {
    batches[i / each] += report.waves[i].batches;
  }
  const std::uint64_t most = std::max<std::uint64_t>(1, std::ranges::max(batches));
  std::string text = fmt::format(
      "<h2>Batches per wave</h2>\n<p>{} of samples that waited for values; {} in the "
      "largest{}.</p>\n<div class=waves>",
      grouped(report.wave_count, "wave"),
      grouped(each == 1 ? most : most / each, "batch", "batches"),
      each == 1 ? "" : fmt::format(" bar, on average of its {}", detail::counted(each, "wave")));
  for (const std::uint64_t height : batches) {
    text += fmt::format("<i style=\"height:{:.1f}%\"></i>",
                        100 * static_cast<double>(height) / static_cast<double>(most));
  }
  return text + "</div>\n";
}

}  // namespace

std::string Report::html() const {
  std::string text(kBeginning);
  text += fmt::format(
      "<h1>{} in {}</h1>\n<p>No schedule has fewer than {} with these types. "
      "{}. {} at the peak.</p>\n",
      grouped(nodes, "node"), grouped(batches, "batch", "batches"),
      grouped(bound, "batch", "batches"), grouped(kernel_calls, "kernel call"), bytes(peak_bytes));
  return text + part_of_merges(*this) + part_of_costs(*this) + part_of_waves(*this);
}

}  // namespace dynet_like
