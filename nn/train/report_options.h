// ReportOptions: what a run prints, and the picture of its first minibatches.
#pragma once

#include <functional>
#include <iostream>
#include <string>

#include "dynet_like/core/timeline.h"

namespace dynet_like::nn {

struct ReportOptions {
  /// Receives a line per epoch; null: none. Must outlive the run. Nothing else in the library
  /// prints by itself, except DyNet's interface.
  std::ostream* lines = &std::cout;
  /// Whether to show a progress bar on standard error, if that is a terminal.
  bool progress_bar = true;
  std::string unit = "samples", score_name = "score";
  /// The number of units per sample, if `unit` names a part of a sample, such as a word.
  double units_per_sample = 1;
  /// Formats the score for people; by default as a percentage.
  std::function<std::string(double)> score_text = {};
  /// Receives an event for every minibatch, every update and every wait of a rank. For events of
  /// graphs, set GraphOptions::timeline as well. Must outlive the run; null: no events.
  Timeline* timeline = nullptr;
  /// The timeline stops after this many minibatches, so that the picture stays small; 0: it does
  /// not stop.
  unsigned timeline_minibatches = 20;
  /// The file for the timeline, saved when it stops or at the end of the run; empty: none.
  std::string timeline_file = {};

  /// Throws UsageError for units out of range, and for a name that files cannot store.
  void check() const;
};

}  // namespace dynet_like::nn
