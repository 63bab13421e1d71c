// Scripts by Oniguruma, which knows the characters of each.
#include "nn/text/scripts.h"

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <oniguruma.h>

namespace dynet_like::nn::text {

namespace {

// Those of Unicode 9, as in the reference; frequent ones first. Hiragana and Katakana count as Han.
constexpr std::string_view kScripts =
    "Common Latin Han Hiragana Katakana Cyrillic Arabic Inherited Adlam Ahom AnatolianHieroglyphs "
    "Armenian Avestan Balinese Bamum BassaVah Batak Bengali Bhaiksuki Bopomofo Brahmi Braille "
    "Buginese Buhid CanadianAboriginal Carian CaucasianAlbanian Chakma Cham Cherokee Coptic "
    "Cuneiform Cypriot Deseret Devanagari Duployan EgyptianHieroglyphs Elbasan Ethiopic Georgian "
    "Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Hangul Hanunoo Hatran Hebrew "
    "ImperialAramaic InscriptionalPahlavi InscriptionalParthian Javanese Kaithi Kannada KayahLi "
    "Kharoshthi Khmer Khojki Khudawadi Lao Lepcha Limbu LinearA LinearB Lisu Lycian Lydian "
    "Mahajani Malayalam Mandaic Manichaean Marchen MeeteiMayek MendeKikakui MeroiticCursive "
    "MeroiticHieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean NewTaiLue Newa Nko "
    "Ogham OlChiki OldHungarian OldItalic OldNorthArabian OldPermic OldPersian OldSouthArabian "
    "OldTurkic Oriya Osage Osmanya PahawhHmong Palmyrene PauCinHau PhagsPa Phoenician "
    "PsalterPahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala "
    "SoraSompeng Sundanese SylotiNagri Syriac Tagalog Tagbanwa TaiLe TaiTham TaiViet Takri Tamil "
    "Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Ugaritic Vai WarangCiti Yi";

constexpr std::size_t kAny = std::string_view::npos;

/// Finds scripts, and keeps those that it has found.
class Scripts {
 public:
  Scripts() {
    std::istringstream names{std::string(kScripts)};
    for (std::string name; names >> name;) {
      auto* const begin = reinterpret_cast<OnigUChar*>(name.data());
      types_.push_back(
          ONIGENC_PROPERTY_NAME_TO_CTYPE(ONIG_ENCODING_UTF8, begin, begin + name.size()));
    }
  }

  /// A number; kAny if the character has none.
  std::size_t find(char32_t code) {
    if (code == ' ') return kAny;
    const auto [found, is_new] = known_.try_emplace(code, kAny);
    if (!is_new) return found->second;
    constexpr char32_t kProlonged = 0x30FC;  // the sign of long vowels
    if (code == kProlonged) return found->second = kHan;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const auto type = static_cast<OnigCtype>(types_[i]);
      if (!ONIGENC_IS_CODE_CTYPE(ONIG_ENCODING_UTF8, code, type)) continue;
      return found->second = i > kHan && i <= kKatakana ? kHan : i;
    }
    return kAny;
  }

 private:
  static constexpr std::size_t kHan = 2, kKatakana = 4;

  std::vector<int> types_;
  std::unordered_map<char32_t, std::size_t> known_;
};

}  // namespace

void unicode_scripts(Splits& splits) {
  Scripts scripts;
  std::vector<Split> parts;
  for (const Split& part : splits.parts) {
    if (part.token) {
      parts.push_back(part);
      continue;
    }
    std::size_t last = kAny;
    for (std::size_t at = part.begin; at < part.end;) {
      const std::size_t end = at + character_bytes(splits.aligned.text[at]);
      const std::size_t script = scripts.find(character_at(splits.aligned.text, at));
      if (script != kAny && script != last) parts.push_back({at, at, std::nullopt});
      if (script != kAny) last = script;
      if (last != kAny) parts.back().end = end;
      at = end;
    }
  }
  splits.parts = std::move(parts);
}

}  // namespace dynet_like::nn::text
