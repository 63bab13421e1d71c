// Models from their entries.
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "nn/text/components.h"

namespace dynet_like::nn::text {

namespace {

using OwnedModel = std::unique_ptr<const Model>;
using ReadModel = OwnedModel (*)(const JsonEntry&);
using MergeList = std::vector<std::pair<std::string, std::string>>;

Pieces read_pieces(const JsonEntry& vocab) {
  Pieces pieces;
  vocab.each_member([&](const std::string& piece, const JsonEntry& id) {
    id.checked([&] { pieces.add(piece, id.number()); });
  });
  return pieces;
}

OwnedModel read_word_piece(const JsonEntry& entry) {
  entry.allow(
      {"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
  WordPieceOptions options;
  options.unk_token = entry.at("unk_token").text();
  options.continuing_subword_prefix = entry.at("continuing_subword_prefix").text();
  options.max_input_chars_per_word = entry.at("max_input_chars_per_word").number();
  Pieces pieces = read_pieces(entry.at("vocab"));
  return entry.checked([&] { return make_word_piece(std::move(pieces), options); });
}

/// A merge is "a b" or ["a", "b"].
MergeList read_merges(const JsonEntry& entry) {
  MergeList merges;
  entry.each_item([&](const JsonEntry& item) {
    std::vector<std::string> pair;
    if (item.is_text()) {
      const std::string& text = item.text();
      const std::size_t space = text.find(' ');
      if (text.starts_with("#version")) return;
      pair = {text.substr(0, space)};
      if (space != text.npos) pair.push_back(text.substr(space + 1));
      if (pair.back().find(' ') != text.npos) pair.clear();
    } else {
      item.each_item([&](const JsonEntry& part) { pair.push_back(part.text()); });
    }
    if (pair.size() != 2) item.need("two pieces, with one space between");
    merges.emplace_back(pair[0], pair[1]);
  });
  return merges;
}

OwnedModel read_byte_pair(const JsonEntry& entry) {
  entry.allow({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
               "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (const auto dropout = entry.find("dropout"); dropout && dropout->real() != 0) {
    dropout->need("null, since merges that depend on chance are not supported");
  }
  BytePairOptions options;
  if (const auto unknown = entry.find("unk_token")) options.unk_token = unknown->text();
  if (const auto prefix = entry.find("continuing_subword_prefix")) {
    options.continuing_subword_prefix = prefix->text();
  }
  if (const auto suffix = entry.find("end_of_word_suffix")) {
    options.end_of_word_suffix = suffix->text();
  }
  options.fuse_unk = entry.flag_or("fuse_unk", false);
  options.byte_fallback = entry.flag_or("byte_fallback", false);
  options.ignore_merges = entry.flag_or("ignore_merges", false);
  Pieces pieces = read_pieces(entry.at("vocab"));
  const JsonEntry list = entry.at("merges");
  const MergeList merges = read_merges(list);
  return list.checked([&] { return make_byte_pair(std::move(pieces), merges, options); });
}

double power_of_ten(int exponent) {
  const std::string text = "1e" + std::to_string(exponent);
  double power = 0;
  std::from_chars(text.data(), text.data() + text.size(), power);
  return power;
}

/// The number as the reference reads it: its digits are a whole number, which is rounded, and
/// divided by a power of ten. The last bit decides where two ways to cut a word are equally likely.
double rounded_twice(double number) {
  std::array<char, 32> text{};
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), std::abs(number),
                                        std::chars_format::scientific)
                              .ptr;
  std::uint64_t digits = 0;
  int exponent = 0, behind_point = 0;
  bool is_behind = false;
  const char* at = text.data();
  for (; *at != 'e'; ++at) {
    if (*at == '.') {
      is_behind = true;
      continue;
    }
    digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    behind_point += is_behind ? 1 : 0;
  }
  std::from_chars(at[1] == '+' ? at + 2 : at + 1, end, exponent);
  exponent -= behind_point;
  if (std::abs(exponent) > 300) return number;
  const auto whole = static_cast<double>(digits);
  return std::copysign(
      exponent < 0 ? whole / power_of_ten(-exponent) : whole * power_of_ten(exponent), number);
}

OwnedModel read_unigram(const JsonEntry& entry) {
  entry.allow({"type", "unk_id", "vocab", "byte_fallback"});
  Pieces pieces;
  std::vector<double> scores;
  entry.at("vocab").each_item([&](const JsonEntry& item) {
    std::size_t place = 0;
    item.each_item([&](const JsonEntry& part) {
      if (place == 0) part.checked([&] { pieces.add(part.text(), scores.size()); });
      if (place == 1) scores.push_back(rounded_twice(part.real()));
      ++place;
    });
    if (place != 2) item.need("a piece and its log-probability");
  });
  const std::optional<JsonEntry> unknown = entry.find("unk_id");
  return entry.checked([&] {
    return make_unigram(std::move(pieces), std::move(scores),
                        unknown ? std::optional(unknown->number()) : std::nullopt,
                        entry.flag_or("byte_fallback", false));
  });
}

OwnedModel read_word_level(const JsonEntry& entry) {
  entry.allow({"type", "unk_token", "vocab"});
  return make_word_level(read_pieces(entry.at("vocab")), entry.at("unk_token").text());
}

/// Files of before 2020 do not say the type; the reference tells models by their keys.
ReadModel by_keys(const JsonEntry& entry) {
  if (entry.find("merges")) return read_byte_pair;
  if (entry.find("max_input_chars_per_word")) return read_word_piece;
  return entry.at("vocab").is_list() ? read_unigram : read_word_level;
}

}  // namespace

std::unique_ptr<const Model> read_model(const JsonEntry& entry) {
  if (!entry.find("type")) return by_keys(entry)(entry);
  return component<ReadModel>(entry, {{"WordPiece", read_word_piece},
                                      {"BPE", read_byte_pair},
                                      {"Unigram", read_unigram},
                                      {"WordLevel", read_word_level}})(entry);
}

}  // namespace dynet_like::nn::text
