// Molecules: random trees of atoms, some with a ring, and whether there is an amide.
#include "examples/full/support/generated.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "dynet_like/core/random.h"

namespace dynet_like::examples {

std::vector<nn::LabelledText> generated_molecules(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<nn::LabelledText> samples(count);
  for (auto& [label, text] : samples) {
    const auto size = 1 + random.below(24);
    std::string bonds, atoms;
    for (std::uint64_t i = 0; i < size; ++i) atoms += "CCNO"[random.below(4)];
    std::vector<bool> has_oxygen(size), has_nitrogen(size);
    const auto bind = [&](std::uint64_t a, std::uint64_t b) {
      const bool is_double = random.below(2) == 0;
      bonds += fmt::format(" {}{}{}", a + 1, is_double ? '=' : '-', b + 1);
      for (const auto& [to, other] : {std::pair(a, b), std::pair(b, a)}) {
        if (is_double && atoms[other] == 'O') has_oxygen[to] = true;
        if (!is_double && atoms[other] == 'N') has_nitrogen[to] = true;
      }
    };
    for (std::uint64_t i = 1; i < size; ++i) bind(i, random.below(i));
    if (size > 4 && random.below(2) == 0) bind(0, size - 1);
    bool is_amide = false;
    for (std::uint64_t i = 0; i < size; ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : " ", atoms[i]);
      is_amide |= atoms[i] == 'C' && has_oxygen[i] && has_nitrogen[i];
    }
    text += bonds;
    label = is_amide ? "amide" : "none";
  }
  return samples;
}

}  // namespace dynet_like::examples
