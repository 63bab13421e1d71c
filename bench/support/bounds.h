// Amounts of work by row, and a file of bounds that they must stay within.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace dynet_like::bench {

/// Rows of amounts. Every amount has a bound: it must not exceed the bound by more than the
/// quantity's tolerance, nor be far below it, so that bounds stay sharp.
class Bounds {
 public:
  struct Quantity {
    std::string name;
    double tolerance = 0;  ///< the share by which an amount may exceed its bound
  };
  using Amounts = std::vector<std::uint64_t>;
  /// By the name of the row, such as "tree_lstm/train/fused".
  using Table = std::map<std::string, Amounts>;

  /// `head`: comments at the beginning of the file.
  Bounds(std::vector<Quantity> quantities, std::string head)
      : quantities_(std::move(quantities)), head_(std::move(head)) {}

  /// Amounts that are above or far below their bounds, and rows that only one of the tables has.
  std::vector<std::string> faults(const Table& bounds, const Table& table) const;

  void write(std::ostream& out, const Table& table) const;
  /// Throws std::runtime_error for a malformed line.
  Table read(std::istream& in) const;

  /// Compares a table with a file of bench/tests, in the folder that DYNET_LIKE_SOURCE_DIR names.
  /// Returns the faults. If DYNET_LIKE_UPDATE_BOUNDS is set, it prints them, writes the file anew,
  /// and returns none.
  std::vector<std::string> check(const std::string& file, const Table& table) const;

 private:
  std::vector<std::string> faults_of_row(const std::string& name, const Amounts& bounds,
                                         const Amounts& amounts) const;

  std::vector<Quantity> quantities_;
  std::string head_;
};

}  // namespace dynet_like::bench
