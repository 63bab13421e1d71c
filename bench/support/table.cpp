// Measures rows in turn, and prints them as a table and as JSON.
#include "bench/support/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>
#include <regex>

#include "bench/support/device_table.h"
#include "bench/support/fma_peak.h"
#include "bench/support/program.h"
#include "bench/support/real_data.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/io/atomic_file.h"

namespace dynet_like::bench {

namespace {

namespace po = boost::program_options;

struct Options {
  std::string filter, mode, json_file;
  double seconds = 1;
  int runs = 1;
  double host_us = 0;  ///< 0: as measured
  GpuRange range;
  bool counts_devices = false;
};

nlohmann::json to_json(const Row& row, const Result& r, int runs, double spread, double peak) {
  return {{"row", row.name()},
          {"model", row.model},
          {"hidden", row.hidden},
          {"batch", row.batch},
          {"mode", row.train ? "train" : "infer"},
          {"form", row.form},
          {"policy", batching::name_of(row.policy)},
          {"threads", row.threads},
          {"runs", runs},
          {"spread", spread},
          {"instances_per_s", r.instances_per_s},
          {"cpu_share", r.cpu_share},
          {"instances_per_cpu_s", r.instances_per_s / r.cpu_share},
          {"us_per_instance", 1e6 / r.instances_per_s},
          {"gflops", r.gflops},
          {"peak_gflops", peak},
          {"peak_share", r.gflops / peak / row.threads},
          {"record_ns_per_node", r.record_ns},
          {"plan_ns_per_node", r.plan_ns},
          {"rest_ns_per_node", r.rest_ns},
          {"outside_kernels_share", r.outside_share},
          {"nodes", r.nodes},
          {"batches", r.batches},
          {"bound", r.bound},
          {"kernel_calls", r.kernel_calls},
          {"early_loss", r.early_loss},
          {"final_loss", r.loss}};
}

void print_header() {
  fmt::print("{:<48}{:>9}{:>9}{:>6}{:>8}{:>6}{:>8}{:>6}{:>6}{:>7}{:>9}{:>9}{:>9}\n", "row",
             "inst/s", "us/inst", "cpu", "GFLOP/s", "peak", "record", "plan", "rest", "other",
             "batches", "bound", "calls");
  fmt::print("{:<48}{:>9}{:>9}{:>6}{:>8}{:>6}{:>8}{:>6}{:>6}{:>7}\n", "", "", "", "%", "", "%",
             "ns/node", "", "", "%");
}

void print(const nlohmann::json& j) {
  const auto get = [&](const char* key) { return j.at(key).get<double>(); };
  fmt::print(
      "{:<48}{:>9.1f}{:>9.1f}{:>6.0f}{:>8.1f}{:>6.0f}{:>8.0f}{:>6.0f}{:>6.0f}{:>7.1f}{:>9.1f}{:>9."
      "1f}"
      "{:>9.1f}\n",
      j.at("row").get<std::string>(), get("instances_per_s"), get("us_per_instance"),
      100 * get("cpu_share"), get("gflops"), 100 * get("peak_share"), get("record_ns_per_node"),
      get("plan_ns_per_node"), get("rest_ns_per_node"), 100 * get("outside_kernels_share"),
      get("batches"), get("bound"), get("kernel_calls"));
  std::fflush(stdout);
}

// The difference between the fastest and the slowest run, as a share of the median.
double spread(const std::vector<Result>& runs) {
  double slowest = runs[0].instances_per_s, fastest = slowest;
  for (const Result& run : runs) {
    slowest = std::min(slowest, run.instances_per_s);
    fastest = std::max(fastest, run.instances_per_s);
  }
  return (fastest - slowest) / median(runs).instances_per_s;
}

// The rows take turns, so that a busy period of the machine affects one run of each row, not all
// runs of one.
void measure_all(const std::vector<Row>& rows, const Options& options, const MeasureRow& measure) {
  double peak = 0;
  const bool on_device = options.counts_devices && !default_device()->is_cpu();
  nlohmann::json all = nlohmann::json::array();
  std::vector<std::vector<Result>> results(rows.size());
  for (int run = 0; run < options.runs; ++run) {
    peak = std::max(peak, measure_fma_peak());
    if (run + 1 == options.runs) {
      fmt::print("one core multiplies and adds {:.1f} GFLOP/s\n", peak);
      print_header();
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      results[i].push_back(measure(rows[i], options.seconds));
      if (run + 1 < options.runs) continue;
      const Result result = median(results[i]);
      all.push_back(to_json(rows[i], result, options.runs, spread(results[i]), peak));
      if (on_device) {
        const double host =
            options.host_us > 0 ? options.host_us / 1e6 : result.device.host_seconds;
        all.back().update(device_columns(rows[i], result, host, options.range));
      }
      print(all.back());
      if (!options.json_file.empty()) {
        detail::write_atomically(options.json_file, all.dump(2) + '\n');
      }
    }
  }
  if (on_device) print_device_table(default_device()->name(), all, options.range);
}

void run(int argc, char** argv, const TableProgram& program) {
  Options chosen;
  chosen.counts_devices = program.counts_devices;
  po::options_description options(program.about + "\n\nOptions");
  options.add_options()("list", "print the names of all rows")(
      "filter", po::value(&chosen.filter)->default_value(program.default_filter),
      "only rows whose name contains this regular expression")(
      "mode", po::value(&chosen.mode), "only rows of this mode: train or infer")(
      "json", po::value(&chosen.json_file),
      "also write an array with one object per row to this file")(
      "runs", po::value(&chosen.runs)->default_value(chosen.runs),
      "take the median of so many runs of each row")(
      "seconds", po::value(&chosen.seconds)->default_value(chosen.seconds), "how long a run takes");
  if (program.counts_devices) {
    options.add_options()("host-us", po::value(&chosen.host_us),
                          "microseconds of the host per minibatch, for the prediction")(
        "constants", po::value<std::string>()->value_name("FILE"),
        "predict with constants that the program constants wrote to this file (default: the range "
        "of an "
        "H100 in bench/support/gpu_model.h)");
  }
  add_real_files(options);
  po::variables_map values;
  if (!read_command_line(argc, argv, options, values)) return;
  if (!chosen.mode.empty() && chosen.mode != "train" && chosen.mode != "infer") {
    throw UsageError("need train or infer for --mode; got " + chosen.mode);
  }
  check_range("seconds", chosen.seconds, 0.001, 3600);
  check_range("runs", chosen.runs, 1, 1000);
  if (values.contains("host-us")) check_range("host-us", chosen.host_us, 0.001, 1e9);
  if (values.contains("constants")) {
    chosen.range = read_constants(values["constants"].as<std::string>());
  }
  if (!chosen.json_file.empty()) detail::AtomicFile writable(chosen.json_file);
  std::vector<Row> rows;
  const std::regex wanted(chosen.filter);
  for (const Row& row : program.rows) {
    if (values.contains("list")) fmt::print("{}\n", row.name());
    const bool in_mode = chosen.mode.empty() || row.train == (chosen.mode == "train");
    if (in_mode && std::regex_search(row.name(), wanted)) rows.push_back(row);
  }
  if (values.contains("list")) return;
  if (rows.empty()) throw UsageError("no row matches \"" + chosen.filter + "\"; see --list");
  measure_all(rows, chosen, program.measure);
}

}  // namespace

int run_table(int argc, char** argv, const TableProgram& program) {
  return run_program(program.name, [&] { run(argc, argv, program); });
}

}  // namespace dynet_like::bench
