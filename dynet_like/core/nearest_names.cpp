// Edit distances, one row of the usual table at a time.
#include "dynet_like/core/nearest_names.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "dynet_like/core/text.h"

namespace dynet_like::detail {

namespace {

constexpr std::size_t kMostNames = 10'000, kMostLetters = 100;

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // row i of the distances
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_names(std::string_view name, std::span<const std::string_view> names,
                          std::size_t most) {
  std::vector<std::pair<std::size_t, std::size_t>> order;  // distances, and numbers of names
  names = names.first(std::min(names.size(), kMostNames));
  for (std::size_t i = 0; i < names.size(); ++i) {
    order.emplace_back(distance(name.substr(0, kMostLetters), names[i].substr(0, kMostLetters)), i);
  }
  const auto count = std::min(most, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
  std::string result;
  for (std::size_t i = 0; i < count; ++i) {
    result += (i > 0 ? ", " : "") + quoted_text(names[order[i].second]);
  }
  return result;
}

std::string nearest_names_text(std::string_view name, std::span<const std::string_view> names) {
  const std::string nearest = nearest_names(name, names);
  return nearest.empty()
             ? ""
             : (names.size() > 1 ? ", the nearest are " : ", the only one is ") + nearest;
}

}  // namespace dynet_like::detail
