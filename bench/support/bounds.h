// Amounts of work by row, and a file of bounds that they must stay within.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace dynet_like::bench {

/// Rows of amounts. Every amount has a bound: it may not be above it, but for the quantity's
/// tolerance, nor far below it, so that the bounds stay sharp.
class Bounds {
 public:
  struct Quantity {
    std::string name;
    double tolerance = 0;  ///< how far above its bound it may be, as a share
  };
  using Amounts = std::vector<std::uint64_t>;
  /// By the name of the row, such as "tree_lstm/train/fused".
  using Table = std::map<std::string, Amounts>;

  /// `head` are comments that the file begins with.
  Bounds(std::vector<Quantity> quantities, std::string head)
      : quantities_(std::move(quantities)), head_(std::move(head)) {}

  /// What is above its bound, or far below, or in only one of the tables.
  std::vector<std::string> faults(const Table& bounds, const Table& table) const;

  void write(std::ostream& out, const Table& table) const;
  /// Throws std::runtime_error for a line that is none.
  Table read(std::istream& in) const;

  /// The faults of a table against a file of bench/tests, which DYNET_LIKE_SOURCE_DIR leads to. If
  /// DYNET_LIKE_UPDATE_BOUNDS is set, they are printed, the file is written anew, and there are
  /// none.
  std::vector<std::string> check(const std::string& file, const Table& table) const;

 private:
  std::vector<std::string> faults_of_row(const std::string& name, const Amounts& bounds,
                                         const Amounts& amounts) const;

  std::vector<Quantity> quantities_;
  std::string head_;
};

}  // namespace dynet_like::bench
