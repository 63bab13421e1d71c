// The table and the command line of programs that measure rows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/support/measure.h"

namespace dynet_like::bench {

/// Measures a row for some seconds.
using MeasureRow = std::function<Result(const Row& row, double seconds)>;

/// A program that measures rows.
struct TableProgram {
  const char* name;
  std::string about;  ///< the text of --help before the options
  std::vector<Row> rows;
  std::string default_filter;
  MeasureRow measure;
};

/// Parses the command line, measures the rows that it selects, and prints them. Returns the exit
/// status.
int run_table(int argc, char** argv, const TableProgram& program);

}  // namespace dynet_like::bench
