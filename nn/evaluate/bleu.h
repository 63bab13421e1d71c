// BLEU: the share of a translation's n-grams that reference translations contain.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dynet_like::nn {

/// What replaces a precision of 0, which would make BLEU 0. `none`: nothing. `add_one`: adds 1 to
/// the numbers of matches and of n-grams for n > 1 (Lin and Och 2004). `exponential`: the i-th
/// precision of 0 becomes 1 / (2^i * n-grams), as in NIST's mteval and sacrebleu. If no word
/// matches, BLEU is always 0.
enum class BleuSmoothing { none, add_one, exponential };

/// BLEU of a corpus with n-grams up to 4 (Papineni et al. 2002): brevity penalty * geometric mean
/// of the modified precisions. It is from 0 to 1, and 0 without sentences. You tokenise the text;
/// tokens are compared unchanged.
class Bleu {
 public:
  static constexpr std::size_t kOrder = 4;
  using Tokens = std::vector<std::string>;

  /// Adds a sentence with its references. Throws UsageError without references.
  void add(const Tokens& translation, std::span<const Tokens> references);
  void add(const Tokens& translation, const Tokens& reference) {
    add(translation, std::span(&reference, 1));
  }

  double value(BleuSmoothing smoothing = BleuSmoothing::none) const;
  /// The precision of n-grams, n from 1 to 4, without smoothing. Throws UsageError for another n.
  double precision(std::size_t n) const;
  /// 1, or e^(1 - r / c) if c < r. c is the length of all translations; r adds up, for each of
  /// them, the length of the reference that is closest in length, of two the shorter.
  double brevity_penalty() const;

 private:
  std::array<std::size_t, kOrder> matches_ = {}, ngrams_ = {};
  std::size_t length_ = 0, reference_length_ = 0;
};

}  // namespace dynet_like::nn
