// The safetensors header: every number is checked before it is used, for files are hostile.
#include "dynet_like/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/errors.h"

namespace dynet_like {

std::size_t safetensors_item_size(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, std::size_t>, 15> kSizes = {{
      {"BOOL", 1},
      {"U8", 1},
      {"I8", 1},
      {"F8_E5M2", 1},
      {"F8_E4M3", 1},
      {"I16", 2},
      {"U16", 2},
      {"F16", 2},
      {"BF16", 2},
      {"I32", 4},
      {"U32", 4},
      {"F32", 4},
      {"I64", 8},
      {"U64", 8},
      {"F64", 8},
  }};
  for (const auto& [name, size] : kSizes) {
    if (name == dtype) return size;
  }
  return 0;
}

namespace safetensors {

namespace {

constexpr std::size_t kAlignment = 8;
constexpr const char* kMetadata = "__metadata__";

// What the header says of one tensor.
struct Claim {
  TensorEntry entry;
  std::vector<std::uint64_t> offsets;
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

// Reads the header's JSON as a stream of events, so that no nesting but the format's is followed
// and nothing is stored that the format does not know.
class HeaderReader final : public nlohmann::json::json_sax_t {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  std::vector<Claim>& claims() { return claims_; }
  std::map<std::string, std::string>& metadata() { return metadata_; }

  bool null() override { return refuse("null"); }
  bool boolean(bool value) override { return refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return refuse(fmt::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return refuse(shown(text)); }
  bool binary(binary_t&) override { return refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::shape && place_ != Place::offsets) return refuse(fmt::to_string(value));
    const bool shape = place_ == Place::shape;
    auto& numbers = shape ? claims_.back().entry.shape : claims_.back().offsets;
    if (numbers.size() == (shape ? kRankLimit : 2)) return refuse("one number more");
    numbers.push_back(value);
    return true;
  }

  bool string(string_t& value) override {
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
    if (place_ != Place::tensor || key_ == "dtype") return refuse("an array");
    place_ = key_ == "shape" ? Place::shape : Place::offsets;
    return true;
  }

  bool end_array() override {
    const std::size_t count = claims_.back().offsets.size();
    if (place_ == Place::offsets && count != 2) return refuse(fmt::format("{} numbers", count));
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    constexpr std::size_t kLimit = 160;  // the text quotes the file
    std::string text = std::string(error.what()).substr(0, kLimit);
    // Cutting may have split a character, and the quotation may not be text at all.
    for (char& c : text) c = c >= 0x20 && c < 0x7F ? c : '?';
    fail(file_, "a header of valid JSON", text);
  }

 private:
  enum class Place { start, top, metadata, tensor, shape, offsets, end };

  void mark(const std::string& key) {
    Claim& claim = claims_.back();
    bool* known = nullptr;
    if (key == "dtype") known = &claim.has_dtype;
    if (key == "shape") known = &claim.has_shape;
    if (key == "data_offsets") known = &claim.has_offsets;
    if (known == nullptr) fail(file_, "dtype, shape or data_offsets" + of_tensor(), shown(key));
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
    return fmt::format("a shape of at most {} integers from 0{}", kRankLimit, of_tensor());
  }

  std::string of_tensor() const { return " of " + shown(claims_.back().entry.name); }

  const std::string& file_;
  Place place_ = Place::start;
  std::string key_;
  bool has_metadata_ = false;
  std::vector<Claim> claims_;
  std::map<std::string, std::string> metadata_;
};

HeaderReader read_json(std::string_view text, const std::string& file) {
  if (text.empty() || text.front() != '{') {
    fail(file, "a header that begins with {", text.empty() ? "none" : shown(text.substr(0, 1)));
  }
  // The JSON parser takes a zero byte for the end and would not look at what follows.
  if (text.find('\0') != std::string_view::npos) fail(file, "a header of text", "a zero byte");
  HeaderReader reader(file);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  return reader;
}

void check_claim(const Claim& claim, std::uint64_t data_size, const std::string& file) {
  const TensorEntry& entry = claim.entry;
  const std::string of = " of " + shown(entry.name);
  if (safetensors_item_size(entry.dtype) == 0) fail(file, "a known dtype" + of, shown(entry.dtype));
  const std::uint64_t begin = claim.offsets[0], end = claim.offsets[1];
  if (begin > end || end > data_size) {
    fail(file, fmt::format("data_offsets{} that rise and end by byte {}", of, data_size),
         fmt::format("[{}, {}]", begin, end));
  }
  const std::optional<std::uint64_t> need = byte_count(entry);
  if (need != end - begin) {
    fail(file,
         fmt::format("{} bytes for {} [{}]{}", need ? fmt::to_string(*need) : "2^64 or more",
                     entry.dtype, fmt::join(entry.shape, ", "), of),
         fmt::format("{} bytes", end - begin));
  }
}

// Tensors must follow each other without a hole, from the first byte to the last.
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
    fail(file, fmt::format("{} bytes of data behind the header", end), fmt::to_string(data_size));
  }
}

void check_for_writing(const TensorEntry& entry) {
  const std::string of = " of " + shown(entry.name);
  const std::optional<std::uint64_t> need = byte_count(entry);
  if (entry.name == kMetadata) throw UsageError("[save] need another name; got " + entry.name);
  if (safetensors_item_size(entry.dtype) == 0) {
    throw UsageError("[save] need a known dtype" + of + "; got " + shown(entry.dtype));
  }
  if (entry.shape.size() > kRankLimit) {
    throw UsageError(fmt::format("[save] need at most {} dimensions{}; got {}", kRankLimit, of,
                                 entry.shape.size()));
  }
  if (need != entry.bytes.size()) {
    throw UsageError(fmt::format("[save] need {} bytes for {} [{}]{}; got {}",
                                 need ? fmt::to_string(*need) : "2^64 or more", entry.dtype,
                                 fmt::join(entry.shape, ", "), of, entry.bytes.size()));
  }
}

// Text as JSON; the JSON library refuses what is not UTF-8.
std::string json_text(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw UsageError("[save] need names and metadata in UTF-8; got " + shown(text));
  }
}

std::string metadata_text(const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> pairs;
  pairs.reserve(metadata.size());
  for (const auto& [key, value] : metadata) {
    pairs.push_back(json_text(key) + ":" + json_text(value));
  }
  return fmt::format("\"{}\":{{{}}}", kMetadata, fmt::join(pairs, ","));
}

}  // namespace

Header parse_header(std::string_view text, std::uint64_t data_size, const std::string& file) {
  HeaderReader reader = read_json(text, file);
  std::vector<Claim>& claims = reader.claims();
  for (const Claim& claim : claims) check_claim(claim, data_size, file);
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
    return std::tie(a.offsets, a.entry.name) < std::tie(b.offsets, b.entry.name);
  });
  Header header;
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

std::string header_text(std::span<const TensorEntry* const> entries,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> items;
  if (!metadata.empty()) items.push_back(metadata_text(metadata));
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
  if (text.size() > kHeaderLimit) {
    throw UsageError(
        fmt::format("[save] need a header of at most {} bytes; got {}", kHeaderLimit, text.size()));
  }
  return text;
}

std::optional<std::uint64_t> byte_count(const TensorEntry& entry) {
  std::uint64_t count = safetensors_item_size(entry.dtype);
  for (const std::uint64_t size : entry.shape) {
    if (size != 0 && count > std::numeric_limits<std::uint64_t>::max() / size) return {};
    count *= size;
  }
  return count;
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
