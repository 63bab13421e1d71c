// BLEU: how much of a translation's word sequences is in reference translations.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dynet_like::nn {

/// What stands for a precision of 0, so that one such does not make the whole 0. None: it does.
/// Add one: to numbers of matches and of n-grams for n > 1 (Lin and Och 2004). Exponential: the
/// i-th precision of 0 becomes 1 / (2^i * n-grams), as in NIST's mteval and sacrebleu. Where no
/// word matches, BLEU is 0 in any case.
enum class BleuSmoothing { none, add_one, exponential };

/// BLEU of a corpus with n-grams up to 4 (Papineni et al. 2002): brevity penalty * geometric mean
/// of the modified precisions. It is from 0 to 1, and 0 of nothing. Tokens are the caller's, and
/// compared as they are.
class Bleu {
 public:
  static constexpr std::size_t kOrder = 4;
  using Tokens = std::vector<std::string>;

  /// A sentence with its references. Throws UsageError without references.
  void add(const Tokens& translation, std::span<const Tokens> references);
  void add(const Tokens& translation, const Tokens& reference) {
    add(translation, std::span(&reference, 1));
  }

  double value(BleuSmoothing smoothing = BleuSmoothing::none) const;
  /// Of n-grams, n from 1 to 4, without smoothing. Throws UsageError for another n.
  double precision(std::size_t n) const;
  /// 1, or e^(1 - r / c) where the translations are c words and shorter than r: the lengths of the
  /// references whose lengths are next to those of the translations, of two the shorter.
  double brevity_penalty() const;

 private:
  std::array<std::size_t, kOrder> matches_ = {}, ngrams_ = {};
  std::size_t length_ = 0, reference_length_ = 0;
};

}  // namespace dynet_like::nn
