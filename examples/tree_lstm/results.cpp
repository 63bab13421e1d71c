// Printing and reporting the results of the Tree-LSTM example.
#include "examples/tree_lstm/results.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "examples/support/report_file.h"

namespace dynet_like::examples {

namespace {

// Trees with one or two operators are easy and many: what counts are those that have more. A file
// is tested as a whole, as others do.
std::uint32_t operators_that_count(const Options& options) {
  return options.is_listops() && options.listops_test.empty() ? 3 : 0;
}

void print_listops_test(const Options& options, const Task& task,
                        const std::vector<Prediction>& predictions) {
  fmt::print("\ntest accuracy by size\n{:>14}{:>10}{:>12}\n", "operators", "trees", "accuracy");
  for (const SizeRow& row : accuracy_by_size(task.test, predictions)) {
    fmt::print("{:>14}{:>10}{:>10.1f} %\n", row.operators, row.accuracy.all,
               100 * row.accuracy.share());
  }
  const std::uint32_t least = operators_that_count(options);
  fmt::print("test accuracy: {:.2f} %{}\n", 100 * accuracy(task.test, predictions, least).share(),
             least > 0 ? fmt::format(" of the trees with {} operators and more", least) : "");
}

}  // namespace

void print_test(const Options& options, const Task& task,
                const std::vector<Prediction>& predictions) {
  if (options.is_listops()) {
    print_listops_test(options, task, predictions);
    return;
  }
  fmt::print("\ntest accuracy of the roots: {:.2f} %; negative or positive: {:.2f} %\n",
             100 * accuracy(task.test, predictions).share(),
             100 * binary_accuracy(task.test, predictions).share());
}

void write_results(const Options& options, const Task& task, const Progress& progress,
                   const std::vector<Prediction>& predictions, const BatchingGain& gain) {
  nlohmann::json results = {
      {"task", name_of(task.kind)},
      {"test_accuracy", accuracy(task.test, predictions, operators_that_count(options)).share()},
      {"test_binary_accuracy", nullptr},
      {"dev_accuracy", progress.best_score},
      {"epochs", progress.epochs},
      {"seconds", progress.seconds},
      {"trees_per_s", gain.samples_per_s},
      {"trees_per_s_unbatched", gain.samples_per_s_unbatched},
      {"batches", gain.batches},
      {"bound", gain.bound},
      {"host_ns_per_node", gain.host_ns_per_node}};
  if (options.is_listops()) {
    for (const SizeRow& row : accuracy_by_size(task.test, predictions)) {
      results["test_accuracy_by_operators"][row.operators] = row.accuracy.share();
    }
  } else {
    results["test_binary_accuracy"] = binary_accuracy(task.test, predictions).share();
  }
  write_report(options.report, results);
}

}  // namespace dynet_like::examples
