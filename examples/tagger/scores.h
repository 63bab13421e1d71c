// How good labels are: the share of right ones, and how many named entities were found.
#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dynet_like::examples {

/// A named entity: the words from begin to end - 1.
struct Entity {
  std::string type;
  std::size_t begin = 0, end = 0;

  auto operator<=>(const Entity&) const = default;
};

/// The entities that labels mark: "B-type" begins one and "I-type" continues one of its type; where
/// there is none to continue, it begins one, as in the evaluation of CoNLL (Tjong Kim Sang and De
/// Meulder 2003). All other labels are outside.
std::vector<Entity> entities_of(std::span<const std::string> labels);

/// Right labels among all labels; entities with exactly the right words and type among those that
/// were there, and among those that were found.
class LabelScore {
 public:
  /// One sentence: as many labels were found as are right.
  void add(std::span<const std::string> gold, std::span<const std::string> found);

  double accuracy() const { return share(right_labels_, labels_); }
  double precision() const { return share(right_entities_, found_entities_); }
  double recall() const { return share(right_entities_, gold_entities_); }
  /// 2 * precision * recall / (precision + recall)
  double f1() const { return share(2 * right_entities_, gold_entities_ + found_entities_); }

 private:
  static double share(std::size_t part, std::size_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
  }

  std::size_t labels_ = 0, right_labels_ = 0;
  std::size_t gold_entities_ = 0, found_entities_ = 0, right_entities_ = 0;
};

}  // namespace dynet_like::examples
