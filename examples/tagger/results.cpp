// Printing and reporting the results of the tagger example.
#include "examples/tagger/results.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "examples/support/report_file.h"

namespace dynet_like::examples {

double main_score(const TaggerTask& task, const LabelScore& score) {
  return task.counts_entities() ? score.f1() : score.accuracy();
}

void print_results(const TaggerTask& task, const Training& training, const LabelScore& score,
                   const BatchingGain& gain) {
  const Progress& progress = training.progress();
  fmt::print("best: epoch {} with dev {} {:.2f} %, in {}; trained for {:.0f} s\n",
             progress.best_epoch, task.score_name, 100 * progress.best_score, training.best(),
             progress.seconds);
  fmt::print("test {}: {:.2f} %", task.score_name, 100 * main_score(task, score));
  if (task.counts_entities()) {
    fmt::print(" (precision {:.2f} %, recall {:.2f} %)", 100 * score.precision(),
               100 * score.recall());
  }
  fmt::print("\n\n{}", to_table(gain, "sentences"));
}

void write_results(const TaggerOptions& options, const TaggerTask& task, const Training& training,
                   const LabelScore& score, const BatchingGain& gain) {
  const Progress& progress = training.progress();
  nlohmann::json results = {{task.score_name, main_score(task, score)},
                            {"dev_score", progress.best_score},
                            {"epochs", progress.epochs},
                            {"seconds", progress.seconds},
                            {"sentences_per_second", gain.samples_per_s},
                            {"sentences_per_second_unbatched", gain.samples_per_s_unbatched},
                            {"batches", gain.batches},
                            {"bound", gain.bound},
                            {"host_ns_per_node", gain.host_ns_per_node}};
  if (task.counts_entities()) {
    results["entity_precision"] = score.precision();
    results["entity_recall"] = score.recall();
  }
  write_report(options.report, results);
}

}  // namespace dynet_like::examples
