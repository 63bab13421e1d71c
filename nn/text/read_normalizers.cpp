// Normalizers from their entries.
#include "dynet_like/core/counted.h"
#include "nn/text/charsmap.h"
#include "nn/text/components.h"
#include "nn/text/normalizers.h"
#include "nn/text/regex.h"
#include "nn/text/unicode_forms.h"

namespace dynet_like::nn::text {

namespace {

using ReadNormalizer = Normalizer (*)(const JsonEntry&);

template <void (*change)(AlignedText&)>
Normalizer read_plain(const JsonEntry& entry) {
  entry.allow({"type"});
  return change;
}

template <UnicodeForm form>
Normalizer read_form(const JsonEntry& entry) {
  entry.allow({"type"});
  return [](AlignedText& aligned) { bring_into(form, aligned); };
}

Normalizer read_bert_normalizer(const JsonEntry& entry) {
  entry.allow({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  BertNormalizerOptions options;
  options.clean_text = entry.flag_or("clean_text", true);
  options.handle_chinese_chars = entry.flag_or("handle_chinese_chars", true);
  options.lowercase = entry.flag_or("lowercase", true);
  options.strip_accents = entry.flag_or("strip_accents", options.lowercase);
  return bert_normalizer(options);
}

Normalizer read_strip(const JsonEntry& entry) {
  entry.allow({"type", "strip_left", "strip_right"});
  return strip(entry.at("strip_left").flag(), entry.at("strip_right").flag());
}

Normalizer read_prepend(const JsonEntry& entry) {
  entry.allow({"type", "prepend"});
  return prepend(entry.at("prepend").text());
}

Normalizer read_replace(const JsonEntry& entry) {
  entry.allow({"type", "pattern", "content"});
  return replace_matches(read_pattern(entry.at("pattern")), entry.at("content").text());
}

Normalizer read_charsmap(const JsonEntry& entry) {
  entry.allow({"type", "precompiled_charsmap"});
  const JsonEntry map = entry.at("precompiled_charsmap");
  return map.checked([&]() -> Normalizer {
    const auto charsmap = std::make_shared<const Charsmap>(map.text());
    return [charsmap](AlignedText& aligned) { charsmap->normalise(aligned); };
  });
}

Normalizer read_normalizers(const JsonEntry& entry) {
  entry.allow({"type", "normalizers"});
  std::vector<Normalizer> all;
  entry.at("normalizers").each_item([&](const JsonEntry& item) {
    all.push_back(read_normalizer(item));
  });
  return [all](AlignedText& aligned) {
    for (const Normalizer& normalizer : all) normalizer(aligned);
  };
}

}  // namespace

const std::string& read_sought(const JsonEntry& entry) {
  constexpr std::size_t kMostBytes = 1000;
  const std::string& text = entry.text();
  if (text.size() > kMostBytes) {
    entry.fail("need at most " + detail::counted(kMostBytes, "byte") + "; got " +
               std::to_string(text.size()));
  }
  return text;
}

Pattern read_pattern(const JsonEntry& entry) {
  entry.allow({"String", "Regex"});
  if (const std::optional<JsonEntry> string = entry.find("String")) {
    const std::string& text = read_sought(*string);
    return text.empty() ? each_regex("") : each_string(text);
  }
  const JsonEntry regex = entry.at("Regex");
  return regex.checked([&] { return each_regex(regex.text()); });
}

Normalizer read_normalizer(const JsonEntry& entry) {
  return component<ReadNormalizer>(entry, {{"BertNormalizer", read_bert_normalizer},
                                           {"Lowercase", read_plain<lower_case>},
                                           {"NFC", read_form<UnicodeForm::nfc>},
                                           {"NFD", read_form<UnicodeForm::nfd>},
                                           {"NFKC", read_form<UnicodeForm::nfkc>},
                                           {"NFKD", read_form<UnicodeForm::nfkd>},
                                           {"StripAccents", read_plain<strip_accents>},
                                           {"Strip", read_strip},
                                           {"Replace", read_replace},
                                           {"Precompiled", read_charsmap},
                                           {"Nmt", read_plain<nmt>},
                                           {"Prepend", read_prepend},
                                           {"ByteLevel", read_plain<byte_level>},
                                           {"Sequence", read_normalizers}})(entry);
}

}  // namespace dynet_like::nn::text
