// Damages files: one bit changed, a block of zeros, or cut. A reader must refuse such a file, or
// read it as if nothing had happened.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "tests/support/folder_test.h"

namespace dynet_like {

/// How many of the damaged files were refused, and how many were read.
struct Damaged {
  unsigned refused = 0, read = 0;
};

/// Replaces a file by damaged copies, and restores it at the end: 1,000 with one bit changed, 100
/// with 512 zero bytes, 100 that are cut. `answer(path)` returns the file's contents; these must be
/// the same, or it must throw FileError.
template <class Answer>
Damaged expect_damage_is_seen(const std::string& path, const Answer& answer) {
  const std::string good = file_contents(path);
  const auto right = answer(path);
  const auto size = static_cast<std::uint32_t>(good.size());
  Random random(7);
  Damaged damaged;
  for (int i = 0; i < 1200; ++i) {
    std::string text = good;
    const std::uint32_t place = random.below(size);
    if (i < 1000) {
      text[place] = static_cast<char>(text[place] ^ (1 << random.below(8)));
    } else if (i < 1100) {
      const std::uint32_t begin = std::min(place / 512 * 512, size - 1);
      std::fill_n(text.begin() + begin, std::min<std::uint32_t>(512, size - begin), '\0');
    } else {
      text.resize(place);
    }
    std::ofstream(path, std::ios::binary) << text;
    try {
      const auto found = answer(path);
      ++damaged.read;
      EXPECT_TRUE(found == right) << "damage " << i << " at byte " << place << " of " << size;
    } catch (const FileError&) {
      ++damaged.refused;
    }
  }
  std::ofstream(path, std::ios::binary) << good;
  return damaged;
}

}  // namespace dynet_like
