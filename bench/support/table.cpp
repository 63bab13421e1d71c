// Measures rows in turn, and prints them as a table and as JSON.
#include "bench/support/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "bench/support/fma_peak.h"
#include "bench/support/program.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/io/atomic_file.h"

namespace dynet_like::bench {

namespace {

struct Chosen {
  std::string filter, mode, json_file;
  double seconds = 1;
  unsigned runs = 1;
  bool lists = false;
};

/// A figure of a row: a key in JSON and, if it has a title, a column of the table.
struct Column {
  const char* key;
  const char* title;
  int places;
  double (*value)(const Row& row, const Result& result);
};

constexpr Column kColumns[] = {
    {"instances_per_s", "inst/s", 1, [](auto&, auto& r) { return r.instances_per_s; }},
    {"us_per_instance", "us/inst", 1, [](auto&, auto& r) { return 1e6 / r.instances_per_s; }},
    {"cpu_share", "cpu", 2, [](auto&, auto& r) { return r.cpu_share; }},
    {"instances_per_cpu_s", nullptr, 0,
     [](auto&, auto& r) { return r.instances_per_s / r.cpu_share; }},
    {"gflops", "GFLOP/s", 1, [](auto&, auto& r) { return r.gflops; }},
    {"peak_gflops", nullptr, 0, [](auto&, auto& r) { return r.peak_gflops; }},
    {"peak_share", "of peak", 2,
     [](auto& row, auto& r) { return r.gflops / r.peak_gflops / row.threads; }},
    {"record_ns_per_node", "record", 0, [](auto&, auto& r) { return r.record_ns; }},
    {"plan_ns_per_node", "plan", 0, [](auto&, auto& r) { return r.plan_ns; }},
    {"rest_ns_per_node", "rest", 0, [](auto&, auto& r) { return r.rest_ns; }},
    {"outside_kernels_share", "outside", 3, [](auto&, auto& r) { return r.outside_share; }},
    {"nodes", nullptr, 0, [](auto&, auto& r) { return r.nodes; }},
    {"batches", "batches", 1, [](auto&, auto& r) { return r.batches; }},
    {"bound", "bound", 1, [](auto&, auto& r) { return r.bound; }},
    {"kernel_calls", "calls", 1, [](auto&, auto& r) { return r.kernel_calls; }},
    {"early_loss", nullptr, 0, [](auto&, auto& r) { return r.early_loss; }},
    {"final_loss", nullptr, 0, [](auto&, auto& r) { return r.loss; }}};

double mean(const Result& result, std::uint64_t DeviceCounts::*count) {
  return result.device.mean(count);
}
double launches(const Result& result, const DeviceCounts& phase) {
  return static_cast<double>(phase.launches) / result.device.minibatches;
}

constexpr Column kDeviceColumns[] = {
    {"forward_launches", "forward", 0,
     [](auto&, auto& r) { return launches(r, r.device.forward); }},
    {"backward_launches", "backward", 0,
     [](auto&, auto& r) { return launches(r, r.device.backward); }},
    {"update_launches", "update", 0, [](auto&, auto& r) { return launches(r, r.device.update); }},
    {"meetings", "steps", 0, [](auto&, auto& r) { return mean(r, &DeviceCounts::meetings); }},
    {"copies_to_device", "copies", 1,
     [](auto&, auto& r) { return mean(r, &DeviceCounts::copies_to_device); }},
    {"copies_to_host", "back", 1,
     [](auto&, auto& r) { return mean(r, &DeviceCounts::copies_to_host); }},
    {"bus_kB", "bus kB", 1,
     [](auto&, auto& r) {
       return (mean(r, &DeviceCounts::bytes_to_device) + mean(r, &DeviceCounts::bytes_to_host)) /
              1e3;
     }},
    {"synchronisations", "waits", 1,
     [](auto&, auto& r) { return mean(r, &DeviceCounts::synchronisations); }},
    {"allocations", "allocs", 1,
     [](auto&, auto& r) { return mean(r, &DeviceCounts::allocations); }},
    {"fallbacks", "on CPU", 1, [](auto&, auto& r) { return mean(r, &DeviceCounts::fallbacks); }},
    {"host_us", "host us", 0, [](auto&, auto& r) { return r.device.host_seconds * 1e6; }},
    {"busy_us", "busy us", 0, [](auto&, auto& r) { return r.device.busy_seconds * 1e6; }},
    {"measured_us", "measured", 0,
     [](auto& row, auto& r) { return row.batch / r.instances_per_s * 1e6; }},
    {"predicted_us_least", "least us", 0,
     [](auto&, auto& r) { return predict(r.device).least * 1e6; }},
    {"predicted_us_most", "most us", 0,
     [](auto&, auto& r) { return predict(r.device).most * 1e6; }}};

nlohmann::json to_json(const Row& row, const Result& result, unsigned runs, double spread) {
  nlohmann::json json = {{"row", row.name()},
                         {"model", row.model},
                         {"hidden", row.hidden},
                         {"batch", row.batch},
                         {"mode", row.train ? "train" : "infer"},
                         {"form", row.form},
                         {"policy", batching::name_of(row.policy)},
                         {"threads", row.threads},
                         {"runs", runs},
                         {"spread", spread}};
  for (const Column& column : kColumns) json[column.key] = column.value(row, result);
  if (default_device()->is_cpu()) return json;
  json["device"] = default_device()->name();
  for (const Column& column : kDeviceColumns) json[column.key] = column.value(row, result);
  return json;
}

void print_titles(std::span<const Column> columns) {
  fmt::print("{:<48}", "row");
  for (const Column& column : columns) {
    if (column.title != nullptr) fmt::print("{:>9}", column.title);
  }
  fmt::print("\n");
}

void print(std::span<const Column> columns, const Row& row, const Result& result) {
  fmt::print("{:<48}", row.name());
  for (const Column& column : columns) {
    if (column.title != nullptr) {
      fmt::print("{:>9.{}f}", column.value(row, result), column.places);
    }
  }
  fmt::print("\n");
  std::fflush(stdout);
}

// The difference between the fastest and the slowest run, as a share of the median.
double spread(const std::vector<Result>& runs) {
  const auto [slowest, fastest] =
      std::ranges::minmax(runs, {}, [](const Result& run) { return run.instances_per_s; });
  return (fastest.instances_per_s - slowest.instances_per_s) / median(runs).instances_per_s;
}

// The rows take turns, so that a busy period of the machine affects one run of each row, not all
// runs of one.
void measure_all(const std::vector<Row>& rows, const Chosen& chosen, const TableProgram& program) {
  double peak = 0;
  nlohmann::json all = nlohmann::json::array();
  std::vector<std::vector<Result>> results(rows.size());
  std::vector<Result> medians;
  for (unsigned run = 1; run <= chosen.runs; ++run) {
    peak = std::max(peak, measure_fma_peak());
    if (run == chosen.runs) {
      fmt::print("one core multiplies and adds {:.1f} GFLOP/s\n", peak);
      print_titles(kColumns);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      results[i].push_back(program.measure(rows[i], chosen.seconds));
      if (run < chosen.runs) continue;
      medians.push_back(median(results[i]));
      medians.back().peak_gflops = peak;
      print(kColumns, rows[i], medians.back());
      all.push_back(to_json(rows[i], medians.back(), chosen.runs, spread(results[i])));
      if (!chosen.json_file.empty()) {
        detail::write_atomically(chosen.json_file, all.dump(2) + '\n');
      }
    }
  }
  if (default_device()->is_cpu()) return;
  fmt::print(
      "\nPer minibatch on {}. The last two columns are predicted, not measured: from the\n"
      "best to the worst that can be expected of an H100.\n",
      default_device()->name());
  print_titles(kDeviceColumns);
  for (std::size_t i = 0; i < rows.size(); ++i) print(kDeviceColumns, rows[i], medians[i]);
}

void run(int argc, char** argv, const TableProgram& program) {
  Chosen chosen;
  chosen.filter = program.default_filter;
  Options options(program.about);
  options.flag("list", chosen.lists, "print the names of all rows")
      .text("filter", chosen.filter, "only rows whose name contains this regular expression")
      .text("mode", chosen.mode, "only rows of this mode: train or infer")
      .text("json", chosen.json_file, "also write an array with one object per row to this file")
      .number("runs", chosen.runs, 1, 1000, "take the median of so many runs of each row")
      .seconds(chosen.seconds, "how long a run takes");
  add_real_files(options);
  if (!options.read(argc, argv)) return;
  if (!chosen.mode.empty() && chosen.mode != "train" && chosen.mode != "infer") {
    throw UsageError("need train or infer for --mode; got " + chosen.mode);
  }
  if (!chosen.json_file.empty()) detail::AtomicFile writable(chosen.json_file);
  std::vector<Row> rows;
  const std::regex wanted(chosen.filter);
  for (const Row& row : program.rows) {
    if (chosen.lists) fmt::print("{}\n", row.name());
    const bool in_mode = chosen.mode.empty() || row.train == (chosen.mode == "train");
    if (in_mode && std::regex_search(row.name(), wanted)) rows.push_back(row);
  }
  if (chosen.lists) return;
  if (rows.empty()) throw UsageError("no row matches \"" + chosen.filter + "\"; see --list");
  measure_all(rows, chosen, program);
}

}  // namespace

int run_table(int argc, char** argv, const TableProgram& program) {
  return run_program(program.name, [&] { run(argc, argv, program); });
}

}  // namespace dynet_like::bench
