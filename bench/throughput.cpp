// How many instances per second a model trains on or infers, and where the time goes.
#include <fmt/core.h>

#include <boost/program_options.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "bench/models/models.h"
#include "bench/support/fma_peak.h"

namespace {

using namespace dynet_like;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Row {
  std::string model;
  unsigned hidden;
  unsigned batch;
  bool train;
  bench::Form form;
  batching::Policy policy;
  unsigned threads;

  // "fused" are the layers of nn/, which use fused cells where there are such.
  const char* form_name() const { return form == bench::Form::ops ? "ops" : "fused"; }
  std::string name() const {
    return fmt::format("{}/h{}/b{}/{}/{}/{}/t{}", model, hidden, batch, train ? "train" : "infer",
                       form_name(), batching::name_of(policy), threads);
  }
};

struct Result {
  double seconds = 0, record_seconds = 0, plan_seconds = 0, kernel_seconds = 0, update_seconds = 0;
  double product_flops = 0, loss = 0;
  std::size_t instances = 0, minibatches = 0, nodes = 0, batches = 0, kernel_calls = 0, bound = 0;
};

std::vector<Row> all_rows() {
  using batching::Policy;
  std::vector<Row> rows;
  for (const bench::ModelKind& kind : bench::all_models()) {
    const std::string model = kind.name;
    for (unsigned hidden : kind.sizes) {
      for (bench::Form form : {bench::Form::fused, bench::Form::ops}) {
        for (bool train : {true, false}) {
          for (unsigned batch : {1u, 16u, 64u, 256u}) {
            for (unsigned threads : {1u, 2u}) {
              rows.push_back({model, hidden, batch, train, form, Policy::automatic, threads});
            }
          }
          rows.push_back({model, hidden, 64, train, form, Policy::none, 1});
          for (Policy policy : {Policy::depth, Policy::agenda, Policy::descent}) {
            rows.push_back({model, hidden, 64, train, form, policy, 1});
          }
        }
      }
    }
  }
  return rows;
}

// One pass over minibatches until the time is over; the first one warms up and is not counted.
Result measure(const Row& row, double seconds) {
  const std::unique_ptr<bench::Workload> workload =
      bench::make_model(row.model, row.hidden, row.form);
  SimpleSGDTrainer trainer(workload->parameters(), 0.01f);
  GraphOptions options;
  options.policy = row.policy;
  options.threads = row.threads;
  options.inference = !row.train;
  options.measure_time = true;
  Minibatch batch(options);
  Result result;
  Clock::time_point begin = Clock::now();
  std::size_t next = 0;
  for (int round = 0; round <= 3 || result.seconds < seconds; ++round) {
    if (round == 3) {
      result = Result{};
      begin = Clock::now();
    }
    batch.clear();
    const Clock::time_point recording = Clock::now();
    for (unsigned i = 0; i < row.batch; ++i, ++next) {
      batch.add_loss(workload->loss(batch.new_graph(), next % workload->size()));
    }
    result.record_seconds += seconds_since(recording);
    result.loss = static_cast<double>(batch.forward()) / row.batch;
    if (row.train) {
      const Gradients& gradients = batch.backward();
      const Clock::time_point updating = Clock::now();
      trainer.update(gradients);
      result.update_seconds += seconds_since(updating);
    }
    result.seconds = seconds_since(begin);
    result.instances += row.batch;
    ++result.minibatches;
    const Clock::time_point reporting = Clock::now();
    const Report report = batch.explain();
    result.plan_seconds += report.plan_seconds;
    result.kernel_seconds += report.kernel_seconds;
    result.product_flops += report.product_flops * (row.train ? 3 : 1);
    result.nodes += report.nodes;
    result.batches += report.batches;
    result.kernel_calls += report.kernel_calls;
    result.bound += report.bound;
    begin += Clock::now() - reporting;  // counting is not part of the work
  }
  return result;
}

nlohmann::json to_json(const Row& row, const Result& r, double peak) {
  const auto n = static_cast<double>(r.instances), nodes = static_cast<double>(r.nodes);
  const double outside = r.seconds - r.kernel_seconds - r.update_seconds;
  return {
      {"model", row.model},
      {"hidden", row.hidden},
      {"batch", row.batch},
      {"mode", row.train ? "train" : "infer"},
      {"form", row.form_name()},
      {"policy", batching::name_of(row.policy)},
      {"threads", row.threads},
      {"instances_per_s", n / r.seconds},
      {"us_per_instance", r.seconds / n * 1e6},
      {"gflops", r.product_flops / r.seconds / 1e9},
      {"peak_gflops", peak},
      {"record_ns_per_node", r.record_seconds / nodes * 1e9},
      {"plan_ns_per_node", r.plan_seconds / nodes * 1e9},
      {"rest_ns_per_node", (outside - r.record_seconds - r.plan_seconds) / nodes * 1e9},
      {"outside_kernels_share", outside / r.seconds},
      {"nodes", nodes / static_cast<double>(r.minibatches)},
      {"batches", static_cast<double>(r.batches) / static_cast<double>(r.minibatches)},
      {"kernel_calls", static_cast<double>(r.kernel_calls) / static_cast<double>(r.minibatches)},
      {"bound", static_cast<double>(r.bound) / static_cast<double>(r.minibatches)},
      {"final_loss", r.loss}};
}

void print_header() {
  fmt::print("{:<48}{:>9}{:>9}{:>8}{:>6}{:>8}{:>6}{:>6}{:>7}{:>9}{:>9}{:>9}\n", "row", "inst/s",
             "us/inst", "GFLOP/s", "peak", "record", "plan", "rest", "other", "batches", "bound",
             "calls");
  fmt::print("{:<48}{:>9}{:>9}{:>8}{:>6}{:>8}{:>6}{:>6}{:>7}\n", "", "", "", "", "%", "ns/node", "",
             "", "%");
}

void print(const Row& row, const nlohmann::json& j) {
  const auto get = [&](const char* key) { return j.at(key).get<double>(); };
  fmt::print(
      "{:<48}{:>9.1f}{:>9.1f}{:>8.1f}{:>6.0f}{:>8.0f}{:>6.0f}{:>6.0f}{:>7.1f}{:>9.1f}{:>9.1f}"
      "{:>9.1f}\n",
      row.name(), get("instances_per_s"), get("us_per_instance"), get("gflops"),
      100 * get("gflops") / get("peak_gflops") / row.threads, get("record_ns_per_node"),
      get("plan_ns_per_node"), get("rest_ns_per_node"), 100 * get("outside_kernels_share"),
      get("batches"), get("bound"), get("kernel_calls"));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  namespace po = boost::program_options;
  std::string filter, json_file;
  double seconds = 0;
  po::options_description options(
      "Measures training and inference, row by row: "
      "MODEL/hHIDDEN/bBATCH/MODE/FORM/POLICY/tTHREADS.\n"
      "Columns: instances per second, microseconds per instance, GFLOP/s of the matrix products "
      "and\n"
      "their share of the peak of fused multiply-adds on as many cores, nanoseconds per node for\n"
      "recording, planning and the rest of what is not kernels, the share of the step that is\n"
      "neither kernels nor update, and batches, their lower bound and kernel calls per "
      "minibatch.\n\n"
      "Options");
  options.add_options()("help,h", "this text")("list", "print the names of all rows")(
      "filter", po::value(&filter)->default_value("/b64/.*/auto/t1"),
      "only rows whose name contains this regular expression")(
      "json", po::value(&json_file), "also write an array with one object per row to this file")(
      "seconds", po::value(&seconds)->default_value(1.0), "how long to measure a row");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, options), values);
  po::notify(values);
  if (values.contains("help")) {
    std::cout << options;
    return 0;
  }
  std::vector<Row> rows;
  const std::regex wanted(filter);
  for (const Row& row : all_rows()) {
    if (values.contains("list")) fmt::print("{}\n", row.name());
    if (std::regex_search(row.name(), wanted)) rows.push_back(row);
  }
  if (values.contains("list")) return 0;
  if (rows.empty()) throw std::invalid_argument("no row matches \"" + filter + "\"; see --list");
  const double peak = bench::measure_fma_peak();
  fmt::print("one core multiplies and adds {:.1f} GFLOP/s\n", peak);
  print_header();
  nlohmann::json all = nlohmann::json::array();
  for (const Row& row : rows) {
    all.push_back(to_json(row, measure(row, seconds), peak));
    print(row, all.back());
    if (!json_file.empty()) std::ofstream(json_file) << all.dump(2) << '\n';
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "throughput: {}\n", error.what());
  return 1;
}
