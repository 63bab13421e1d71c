// The pieces of models.
#include "nn/text/models.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn::text {

namespace {

constexpr std::uint64_t kMostIds = 1 << 24;  // the largest vocabularies have some 2^18 pieces

}  // namespace

void Pieces::add(std::string_view piece, std::uint64_t id) {
  if (id >= kMostIds) {
    throw UsageError("pieces need ids below " + std::to_string(kMostIds) + "; got " +
                     std::to_string(id) + " for " + detail::quoted_text(piece));
  }
  ids_[std::string(piece)] = static_cast<std::uint32_t>(id);
  if (id >= pieces_.size()) pieces_.resize(id + 1);
  if (pieces_[id].empty()) pieces_[id] = piece;
  ++count_;
}

Trie trie_of(const Pieces& pieces) {
  std::vector<std::pair<std::string_view, std::uint32_t>> entries;
  entries.reserve(pieces.count());
  pieces.for_each([&](const std::string& piece, std::uint32_t id) {
    if (!piece.empty()) entries.emplace_back(piece, id);
  });
  return Trie(std::move(entries));
}

std::string byte_piece(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

}  // namespace dynet_like::nn::text
