// The file of bounds, and the rules.
#include "bench/support/bounds.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace dynet_like::bench {

namespace {

constexpr double kSharp = 0.05;  // how far an amount may be below its bound, as a share

int width_of(const Bounds::Quantity& quantity) {
  return std::max(15, static_cast<int>(quantity.name.size()) + 2);
}

}  // namespace

std::vector<std::string> Bounds::faults_of_row(const std::string& name, const Amounts& bounds,
                                               const Amounts& amounts) const {
  std::vector<std::string> faults;
  for (std::size_t q = 0; q < quantities_.size(); ++q) {
    const auto bound = static_cast<double>(bounds.at(q));
    const auto amount = static_cast<double>(amounts.at(q));
    const bool above = amount > bound * (1 + quantities_[q].tolerance);
    const bool below = amount < bound * (1 - kSharp);
    if (!above && !below) continue;
    faults.push_back(name + ": need " + std::to_string(bounds[q]) + " " + quantities_[q].name +
                     (above ? " at most; got " : "; got only ") + std::to_string(amounts[q]) +
                     (above ? "" : ": lower the bound"));
  }
  return faults;
}

std::vector<std::string> Bounds::faults(const Table& bounds, const Table& table) const {
  std::vector<std::string> result;
  for (const auto& [name, amounts] : table) {
    const auto bound = bounds.find(name);
    if (bound == bounds.end()) {
      result.push_back(name + ": need bounds; got none");
      continue;
    }
    for (std::string& fault : faults_of_row(name, bound->second, amounts)) {
      result.push_back(std::move(fault));
    }
  }
  for (const auto& [name, bound] : bounds) {
    if (!table.contains(name)) result.push_back(name + ": need such a row; got bounds alone");
  }
  return result;
}

void Bounds::write(std::ostream& out, const Table& table) const {
  std::size_t longest = 0;
  for (const auto& [name, amounts] : table) longest = std::max(longest, name.size());
  const int name_width = static_cast<int>(longest) + 3;
  out << head_ << std::left << std::setw(name_width) << "# row" << std::right;
  for (const Quantity& quantity : quantities_) {
    out << std::setw(width_of(quantity)) << quantity.name;
  }
  out << '\n';
  for (const auto& [name, amounts] : table) {
    out << std::left << std::setw(name_width) << name << std::right;
    for (std::size_t q = 0; q < quantities_.size(); ++q) {
      out << std::setw(width_of(quantities_[q])) << amounts.at(q);
    }
    out << '\n';
  }
}

Bounds::Table Bounds::read(std::istream& in) const {
  Table table;
  for (std::string text; std::getline(in, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream line(text);
    std::string name, more;
    Amounts amounts(quantities_.size());
    line >> name;
    for (std::uint64_t& amount : amounts) line >> amount;
    if (!line || line >> more || !table.emplace(name, amounts).second) {
      throw std::runtime_error("[work bounds] need a name of its own and " +
                               std::to_string(amounts.size()) + " numbers; got " + text);
    }
  }
  return table;
}

std::vector<std::string> Bounds::check(const std::string& file, const Table& table) const {
  const char* const root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  if (root == nullptr) throw std::runtime_error("need DYNET_LIKE_SOURCE_DIR, which ctest sets");
  const std::string path = std::string(root) + "/bench/tests/" + file;
  std::ifstream in(path);
  std::vector<std::string> found = faults(read(in), table);
  if (std::getenv("DYNET_LIKE_UPDATE_BOUNDS") == nullptr) return found;
  for (const std::string& fault : found) std::cout << fault << '\n';
  std::ofstream out(path);
  write(out, table);
  out.close();
  if (!out) return {"cannot write " + path};
  return {};
}

}  // namespace dynet_like::bench
