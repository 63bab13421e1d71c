// The safetensors header. A file may be malicious, so every number is checked before it is used.
#include "dynet_like/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/io/checksum.h"

namespace dynet_like {

namespace {

/// Returns 0 for unknown names.
std::size_t item_bits(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, std::size_t>, 20> kBits = {{
      {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"BOOL", 8},    {"U8", 8},
      {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
      {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"I32", 32},    {"U32", 32},
      {"F32", 32}, {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
  }};
  const auto found = std::find_if(kBits.begin(), kBits.end(),
                                  [&](const auto& known) { return known.first == dtype; });
  return found == kBits.end() ? 0 : found->second;
}

}  // namespace

std::size_t safetensors_item_size(std::string_view dtype) { return item_bits(dtype) / 8; }

namespace safetensors {

namespace {

constexpr std::size_t kAlignment = 8;
constexpr const char* kMetadata = "__metadata__";
// Two checksums: of the header, with zeros in place of its own digits, and of the data. If damage
// hides one key, the other still shows that the file had checksums.
constexpr const char* kHeaderChecksum = "dynet_like.header_crc32";
constexpr const char* kDataChecksum = "dynet_like.data_crc32";
constexpr std::string_view kNoDigits = "00000000";
constexpr const char* kDamaged =
    ": the file is damaged (a program that writes other tensors must leave the checksums out)";

using detail::checksum;

// One tensor, as the header describes it.
struct Claim {
  TensorEntry entry;
  std::vector<std::uint64_t> offsets;
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

// Reads the header's JSON as a stream of events. It follows no nesting but the format's, and stores
// nothing that the format does not know: values of unknown keys are skipped.
class HeaderReader final : public nlohmann::json::json_sax_t {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  std::vector<Claim>& claims() { return claims_; }
  std::map<std::string, std::string>& metadata() { return metadata_; }

  bool null() override {
    if (place_ == Place::top && key_ == kMetadata) return true;  // the same as no metadata
    return skip() || refuse("null");
  }
  bool boolean(bool value) override { return skip() || refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return skip() || refuse(fmt::to_string(value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return skip() || refuse(shown(text));
  }
  bool binary(binary_t&) override { return skip() || refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (skip()) return true;
    if (place_ != Place::shape && place_ != Place::offsets) return refuse(fmt::to_string(value));
    const bool shape = place_ == Place::shape;
    auto& numbers = shape ? claims_.back().entry.shape : claims_.back().offsets;
    if (numbers.size() == (shape ? kRankLimit : 2)) return refuse("one number more");
    numbers.push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (skip()) return true;
    if (place_ == Place::metadata) {
      metadata_[key_] = value;
    } else if (place_ == Place::tensor && key_ == "dtype") {
      claims_.back().entry.dtype = value;
    } else {
      return refuse(shown(value));
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (skip(1)) return true;
    if (place_ == Place::start) {
      place_ = Place::top;
    } else if (place_ == Place::top) {
      place_ = key_ == kMetadata ? Place::metadata : Place::tensor;
      if (place_ == Place::tensor) claims_.emplace_back().entry.name = key_;
    } else {
      return refuse("an object");
    }
    return true;
  }

  bool key(string_t& name) override {
    if (place_ == Place::unknown) return true;
    if (place_ == Place::metadata && metadata_.contains(name)) {
      fail(file_, "unique keys in the metadata", shown(name) + " twice");
    }
    if (place_ == Place::top && name == kMetadata && std::exchange(has_metadata_, true)) {
      fail(file_, "unique names", shown(name) + " twice");
    }
    if (place_ == Place::tensor) mark(name);
    key_ = name;
    return true;
  }

  bool end_object() override {
    if (skip(-1)) return true;
    if (place_ == Place::tensor) {
      const Claim& claim = claims_.back();
      if (!claim.has_dtype || !claim.has_shape || !claim.has_offsets) {
        fail(file_, "dtype, shape and data_offsets" + of_tensor(), "only some of them");
      }
    }
    place_ = place_ == Place::top ? Place::end : Place::top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (skip(1)) return true;
    if (place_ != Place::tensor || key_ == "dtype") return refuse("an array");
    place_ = key_ == "shape" ? Place::shape : Place::offsets;
    return true;
  }

  bool end_array() override {
    if (skip(-1)) return true;
    const std::size_t count = claims_.back().offsets.size();
    if (place_ == Place::offsets && count != 2) return refuse(detail::counted(count, "number"));
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    constexpr std::size_t kLimit = 160;  // the message quotes the file
    std::string text = std::string(error.what()).substr(0, kLimit);
    // Cutting may have split a character, and the quoted bytes may not be text at all.
    for (char& c : text) c = c >= 0x20 && c < 0x7F ? c : '?';
    fail(file_, "a header of valid JSON", text);
  }

 private:
  enum class Place { start, top, metadata, tensor, shape, offsets, unknown, end };

  // Whether this event belongs to the value of an unknown key. `deeper` is the change of depth by a
  // bracket; at depth 0 the value ends.
  bool skip(int deeper = 0) {
    if (place_ != Place::unknown) return false;
    depth_ += deeper;
    if (depth_ == 0) place_ = Place::tensor;
    return true;
  }

  void mark(const std::string& key) {
    Claim& claim = claims_.back();
    bool* known = nullptr;
    if (key == "dtype") known = &claim.has_dtype;
    if (key == "shape") known = &claim.has_shape;
    if (key == "data_offsets") known = &claim.has_offsets;
    if (known == nullptr) {
      place_ = Place::unknown;
      return;
    }
    if (std::exchange(*known, true)) {
      fail(file_, "unique keys" + of_tensor(), shown(key) + " twice");
    }
  }

  [[noreturn]] bool refuse(const std::string& got) const { fail(file_, rule(), got); }

  std::string rule() const {
    if (place_ == Place::start || place_ == Place::end) return "a header that is one object";
    if (place_ == Place::metadata) return "text in the metadata for " + shown(key_);
    if (place_ == Place::top) return "an object for " + shown(key_);
    if (key_ == "dtype") return "text as dtype" + of_tensor();
    if (key_ == "data_offsets") return "data_offsets of two integers from 0" + of_tensor();
    return fmt::format("a shape of at most {} from 0{}", detail::counted(kRankLimit, "integer"),
                       of_tensor());
  }

  std::string of_tensor() const { return " of " + shown(claims_.back().entry.name); }

  const std::string& file_;
  Place place_ = Place::start;
  int depth_ = 0;  // of brackets in the value of an unknown key
  std::string key_;
  bool has_metadata_ = false;
  std::vector<Claim> claims_;
  std::map<std::string, std::string> metadata_;
};

HeaderReader read_json(std::string_view text, const std::string& file) {
  if (text.empty() || text.front() != '{') {
    fail(file, "a header that begins with {", text.empty() ? "none" : shown(text.substr(0, 1)));
  }
  // The JSON parser takes a zero byte as the end, and would not check the rest.
  if (text.find('\0') != std::string_view::npos) fail(file, "a header of text", "a zero byte");
  HeaderReader reader(file);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  return reader;
}

constexpr const char* kWholeBytes = " whose size is a whole number of bytes below 2^64";

std::string shape_of(const TensorEntry& entry) {
  return fmt::format("{} [{}]", entry.dtype, fmt::join(entry.shape, ", "));
}

void check_claim(const Claim& claim, std::uint64_t data_size, const std::string& file) {
  const TensorEntry& entry = claim.entry;
  const std::string of = " of " + shown(entry.name);
  if (item_bits(entry.dtype) == 0) fail(file, "a known dtype" + of, shown(entry.dtype));
  const std::uint64_t begin = claim.offsets[0], end = claim.offsets[1];
  if (begin > end || end > data_size) {
    fail(file, fmt::format("data_offsets{} that rise and end by byte {}", of, data_size),
         fmt::format("[{}, {}]", begin, end));
  }
  const std::optional<std::uint64_t> need = byte_count(entry);
  if (!need) fail(file, "a shape" + of + kWholeBytes, shape_of(entry));
  if (*need != end - begin) {
    fail(file, fmt::format("{} for {}{}", detail::counted(*need, "byte"), shape_of(entry), of),
         detail::counted(end - begin, "byte"));
  }
}

// Tensors must follow each other without a gap, from the first byte to the last.
void check_layout(std::span<const Claim> claims, std::uint64_t data_size, const std::string& file) {
  std::uint64_t end = 0;
  for (const Claim& claim : claims) {
    if (claim.offsets[0] != end) {
      fail(file,
           fmt::format("data without holes and overlaps, {} at byte {}", shown(claim.entry.name),
                       end),
           fmt::format("byte {}", claim.offsets[0]));
    }
    end = claim.offsets[1];
  }
  if (end != data_size) {
    fail(file, fmt::format("{} of data behind the header", detail::counted(end, "byte")),
         fmt::to_string(data_size));
  }
}

void check_for_writing(const TensorEntry& entry) {
  const std::string of = " of " + shown(entry.name);
  const std::optional<std::uint64_t> need = byte_count(entry);
  if (entry.name == kMetadata) throw UsageError("[save] need another name; got " + entry.name);
  if (item_bits(entry.dtype) == 0) {
    throw UsageError("[save] need a known dtype" + of + "; got " + shown(entry.dtype));
  }
  if (entry.shape.size() > kRankLimit) {
    throw UsageError(fmt::format("[save] need at most {}{}; got {}",
                                 detail::counted(kRankLimit, "dimension"), of, entry.shape.size()));
  }
  if (!need) {
    throw UsageError("[save] need a shape" + of + kWholeBytes + "; got " + shape_of(entry));
  }
  if (*need != entry.bytes.size()) {
    throw UsageError(fmt::format("[save] need {} for {}{}; got {}", detail::counted(*need, "byte"),
                                 shape_of(entry), of, entry.bytes.size()));
  }
}

// Text as JSON. The JSON library refuses text that is not UTF-8.
std::string json_text(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw UsageError("[save] need names and metadata in UTF-8; got " + shown(text));
  }
}

std::string metadata_text(std::span<const TensorEntry* const> entries,
                          const std::map<std::string, std::string>& metadata) {
  std::uint32_t data = 0;
  for (const TensorEntry* entry : entries) data = checksum(entry->bytes, data);
  std::vector<std::string> pairs = {
      fmt::format(R"("{}":"{}")", kHeaderChecksum, kNoDigits),
      fmt::format(R"("{}":"{}")", kDataChecksum, detail::checksum_text(data))};
  for (const auto& [key, value] : metadata) {
    if (key == kHeaderChecksum || key == kDataChecksum) {
      throw UsageError("[save] need other keys of metadata than the file's own; got " + key);
    }
    pairs.push_back(json_text(key) + ":" + json_text(value));
  }
  return fmt::format("\"{}\":{{{}}}", kMetadata, fmt::join(pairs, ","));
}

// Removes the checksums from the metadata. Checks the header's, which covers names and shapes, too;
// returns that of the data.
std::optional<std::uint32_t> take_checksums(std::string_view text,
                                            std::map<std::string, std::string>& metadata,
                                            const std::string& file) {
  const auto own = metadata.extract(kHeaderChecksum), data = metadata.extract(kDataChecksum);
  if (own.empty() && data.empty()) return std::nullopt;  // a file of another program
  const std::string start = fmt::format("\"{}\":\"", kHeaderChecksum);
  const std::size_t place = text.find(start) + start.size();
  if (own.empty() || data.empty()) {
    fail(file, fmt::format("both {} and {} in the metadata", kHeaderChecksum, kDataChecksum),
         "one: the file is damaged");
  }
  if (place < start.size() || text.size() - place < kNoDigits.size()) {
    fail(file, fmt::format("{} as this library writes it", kHeaderChecksum),
         std::string("it in another form") + kDamaged);
  }
  const std::string_view rest = text.substr(place + kNoDigits.size());
  const std::uint32_t sum = checksum(rest, checksum(kNoDigits, checksum(text.substr(0, place))));
  const auto said = detail::parse_checksum(data.mapped());
  if (!said || detail::parse_checksum(own.mapped()) != sum) {
    fail(file, "a header with the checksum " + shown(own.mapped()),
         detail::checksum_text(sum) + kDamaged);
  }
  return said;
}

}  // namespace

Header parse_header(std::string_view text, std::uint64_t data_size, const std::string& file) {
  HeaderReader reader = read_json(text, file);
  Header header;
  header.data_checksum = take_checksums(text, reader.metadata(), file);
  std::vector<Claim>& claims = reader.claims();
  for (const Claim& claim : claims) check_claim(claim, data_size, file);
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
    return std::tie(a.offsets, a.entry.name) < std::tie(b.offsets, b.entry.name);
  });
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::string& name = claims[i].entry.name;
    if (!header.index.emplace(name, i).second) fail(file, "unique names", shown(name) + " twice");
  }
  check_layout(claims, data_size, file);
  for (Claim& claim : claims) {
    header.begins.push_back(claim.offsets[0]);
    header.entries.push_back(std::move(claim.entry));
  }
  header.metadata = std::move(reader.metadata());
  return header;
}

void check_data(const Header& header, std::span<const std::byte> data, const std::string& file) {
  if (!header.data_checksum) return;
  const std::uint32_t sum = checksum(data);
  if (sum == *header.data_checksum) return;
  fail(file, "data with the checksum " + detail::checksum_text(*header.data_checksum),
       detail::checksum_text(sum) + kDamaged);
}

std::string header_text(std::span<const TensorEntry* const> entries,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> items = {metadata_text(entries, metadata)};
  const std::size_t digits = 1 + items[0].find(kNoDigits);  // behind the first bracket
  std::uint64_t offset = 0;
  for (const TensorEntry* entry : entries) {
    check_for_writing(*entry);
    items.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                json_text(entry->name), entry->dtype, fmt::join(entry->shape, ","),
                                offset, offset + entry->bytes.size()));
    offset += entry->bytes.size();
  }
  std::string text = fmt::format("{{{}}}", fmt::join(items, ","));
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  text.replace(digits, kNoDigits.size(), detail::checksum_text(checksum(text)));
  if (text.size() > kHeaderLimit) {
    throw UsageError(fmt::format("[save] need a header of at most {}; got {}",
                                 detail::counted(kHeaderLimit, "byte"), text.size()));
  }
  return text;
}

std::optional<std::uint64_t> byte_count(const TensorEntry& entry) {
  const std::size_t bits = item_bits(entry.dtype), parts = bits % 8 == 0 ? 1 : 8;  // of a byte
  std::uint64_t count = bits * parts / 8;
  for (const std::uint64_t size : entry.shape) {
    if (size != 0 && count > std::numeric_limits<std::uint64_t>::max() / size) return {};
    count *= size;
  }
  if (count % parts != 0) return {};
  return count / parts;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLimit = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, kLimit)) {
    const auto code = static_cast<unsigned char>(c);
    result += code < 0x20 || code >= 0x7F ? fmt::format("\\x{:02x}", code) : std::string(1, c);
  }
  return result + (text.size() > kLimit ? "...\"" : "\"");
}

void fail(const std::string& file, const std::string& need, const std::string& got) {
  throw FileError(file, fmt::format("[safetensors] need {}; got {}", need, got));
}

}  // namespace safetensors

}  // namespace dynet_like
