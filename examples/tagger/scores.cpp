// Entities in the BIO notation, and counting.
#include "examples/tagger/scores.h"

#include <algorithm>
#include <string_view>

namespace dynet_like::examples {

std::vector<Entity> entities_of(std::span<const std::string> labels) {
  std::vector<Entity> entities;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string_view label = labels[i];
    const bool begins = label.starts_with("B-"), continues = label.starts_with("I-");
    if (!begins && !continues) continue;
    const std::string_view type = label.substr(2);
    const bool goes_on = !entities.empty() && entities.back().end == i;
    if (continues && goes_on && entities.back().type == type) {
      ++entities.back().end;
    } else {
      entities.push_back({std::string(type), i, i + 1});
    }
  }
  return entities;
}

void LabelScore::add(std::span<const std::string> gold, std::span<const std::string> found) {
  labels_ += gold.size();
  for (std::size_t i = 0; i < gold.size(); ++i) right_labels_ += gold[i] == found[i] ? 1 : 0;
  const std::vector<Entity> there = entities_of(gold), claimed = entities_of(found);
  gold_entities_ += there.size();
  found_entities_ += claimed.size();
  right_entities_ += static_cast<std::size_t>(
      std::count_if(claimed.begin(), claimed.end(), [&](const Entity& entity) {
        return std::find(there.begin(), there.end(), entity) != there.end();
      }));
}

}  // namespace dynet_like::examples
