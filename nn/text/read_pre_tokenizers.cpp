// Pre-tokenizers from their entries.
#include <utility>

#include "nn/text/characters.h"
#include "nn/text/components.h"
#include "nn/text/pre_tokenizers.h"
#include "nn/text/scripts.h"

namespace dynet_like::nn::text {

namespace {

using PreTokenizers = std::vector<PreTokenizer>;
using ReadPreTokenizer = void (*)(const JsonEntry&, PreTokenizers&);

void add_pre_tokenizer(const JsonEntry& entry, PreTokenizers& all);

void add_split(PreTokenizers& all, Pattern pattern, SplitBehaviour behaviour, bool is_inverted) {
  all.push_back([pattern = std::move(pattern), behaviour, is_inverted](Splits& splits) {
    split(splits, pattern, behaviour, is_inverted);
  });
}

SplitBehaviour behaviour_of(const JsonEntry& entry) {
  return entry.choice<SplitBehaviour>({{"Removed", SplitBehaviour::removed},
                                       {"Isolated", SplitBehaviour::isolated},
                                       {"MergedWithPrevious", SplitBehaviour::merged_with_previous},
                                       {"MergedWithNext", SplitBehaviour::merged_with_next},
                                       {"Contiguous", SplitBehaviour::contiguous}});
}

void read_bert_pre_tokenizer(const JsonEntry& entry, PreTokenizers& all) {
  entry.allow({"type"});
  all.push_back(bert_pre_tokenizer);
}

void read_byte_level(const JsonEntry& entry, PreTokenizers& all) {
  entry.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  all.push_back(byte_level(
      ByteLevelOptions{entry.at("add_prefix_space").flag(), entry.flag_or("use_regex", true)}));
}

void read_metaspace(const JsonEntry& entry, PreTokenizers& all) {
  all.push_back(metaspace(read_metaspace_options(entry)));
}

void read_whitespace(const JsonEntry& entry, PreTokenizers& all) {
  entry.allow({"type"});
  add_split(all, words_and_signs(), SplitBehaviour::removed, true);
}

void read_whitespace_split(const JsonEntry& entry, PreTokenizers& all) {
  entry.allow({"type"});
  add_split(all, each_character(is_space), SplitBehaviour::removed, false);
}

void read_split(const JsonEntry& entry, PreTokenizers& all) {
  entry.allow({"type", "pattern", "behavior", "invert"});
  add_split(all, read_pattern(entry.at("pattern")), behaviour_of(entry.at("behavior")),
            entry.at("invert").flag());
}

void read_punctuation(const JsonEntry& entry, PreTokenizers& all) {
  entry.allow({"type", "behavior"});
  const std::optional<JsonEntry> behaviour = entry.find("behavior");
  add_split(all, each_character(is_punctuation),
            behaviour ? behaviour_of(*behaviour) : SplitBehaviour::isolated, false);
}

void read_digits(const JsonEntry& entry, PreTokenizers& all) {
  entry.allow({"type", "individual_digits"});
  add_split(
      all, each_character(is_number),
      entry.at("individual_digits").flag() ? SplitBehaviour::isolated : SplitBehaviour::contiguous,
      false);
}

void read_delimiter(const JsonEntry& entry, PreTokenizers& all) {
  entry.allow({"type", "delimiter"});
  const auto is_delimiter = [code = entry.at("delimiter").character()](char32_t c) {
    return c == code;
  };
  add_split(all, each_character(is_delimiter), SplitBehaviour::removed, false);
}

void read_fixed_length(const JsonEntry& entry, PreTokenizers& all) {
  entry.allow({"type", "length"});
  constexpr std::size_t kDefault = 5;
  const std::optional<JsonEntry> length = entry.find("length");
  if (length && length->number() == 0) length->need("a length from 1");
  all.push_back(fixed_length(length ? length->number() : kDefault));
}

void read_scripts(const JsonEntry& entry, PreTokenizers& all) {
  entry.allow({"type"});
  all.push_back(unicode_scripts);
}

void read_sequence(const JsonEntry& entry, PreTokenizers& all) {
  entry.allow({"type", "pretokenizers"});
  entry.at("pretokenizers").each_item([&](const JsonEntry& item) { add_pre_tokenizer(item, all); });
}

void add_pre_tokenizer(const JsonEntry& entry, PreTokenizers& all) {
  component<ReadPreTokenizer>(entry, {{"BertPreTokenizer", read_bert_pre_tokenizer},
                                      {"ByteLevel", read_byte_level},
                                      {"Metaspace", read_metaspace},
                                      {"Whitespace", read_whitespace},
                                      {"WhitespaceSplit", read_whitespace_split},
                                      {"Split", read_split},
                                      {"Punctuation", read_punctuation},
                                      {"Digits", read_digits},
                                      {"CharDelimiterSplit", read_delimiter},
                                      {"FixedLength", read_fixed_length},
                                      {"UnicodeScripts", read_scripts},
                                      {"Sequence", read_sequence}})(entry, all);
}

}  // namespace

MetaspaceOptions read_metaspace_options(const JsonEntry& entry) {
  entry.allow({"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"});
  MetaspaceOptions options;
  options.replacement = entry.at("replacement").character();
  const bool adds = entry.flag_or("add_prefix_space", true);
  options.prepend_scheme = adds ? PrependScheme::always : PrependScheme::never;
  if (const std::optional<JsonEntry> scheme = entry.find("prepend_scheme")) {
    options.prepend_scheme = scheme->choice<PrependScheme>({{"always", PrependScheme::always},
                                                            {"first", PrependScheme::first},
                                                            {"never", PrependScheme::never}});
    if (!adds && options.prepend_scheme != PrependScheme::never) {
      scheme->need("never, as add_prefix_space says");
    }
  }
  options.split = entry.flag_or("split", true);
  return options;
}

std::vector<PreTokenizer> read_pre_tokenizer(const JsonEntry& entry) {
  PreTokenizers all;
  add_pre_tokenizer(entry, all);
  return all;
}

}  // namespace dynet_like::nn::text
