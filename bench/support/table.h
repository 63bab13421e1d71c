// The table and the command line of programs that measure rows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/support/measure.h"

namespace dynet_like::bench {

/// Measures a row for some seconds.
using MeasureRow = std::function<Result(const Row& row, double seconds)>;

/// A whole program: parses the command line, measures the rows that it asks for and prints them.
/// `about` is the text of --help above the options. Returns the exit status.
int run_table(int argc, char** argv, const char* program, const std::string& about,
              const std::vector<Row>& all_rows, const std::string& default_filter,
              const MeasureRow& measure);

}  // namespace dynet_like::bench
