// Entries by nlohmann's JSON.
#include "nn/text/json_entry.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn::text {

namespace {

using Json = nlohmann::json;

constexpr int kMostDepth = 16;
constexpr std::size_t kMostValues = 1 << 23;  // the largest files have some 2^21

const Json& json_of(const void* value) { return *static_cast<const Json*>(value); }

std::size_t count_values(const Json& json) {
  std::size_t count = 1;
  if (!json.is_structured()) return count;
  for (const Json& value : json) count += count_values(value);
  return count;
}

Json parse_json(std::string_view text, const std::string& file) {
  using Event = Json::parse_event_t;
  std::size_t values = 0;
  const auto check = [&](int depth, Event event, Json&) {
    if (depth > kMostDepth) {
      throw FileError(file, "need at most " + detail::counted(kMostDepth, "level") + " of JSON");
    }
    const bool ends = event == Event::array_end || event == Event::object_end;
    if (!ends && ++values > kMostValues) {
      throw FileError(file, "need at most " + detail::counted(kMostValues, "value") + " of JSON");
    }
    return true;
  };
  // The parser would take a zero byte as the end.
  if (text.find('\0') != text.npos) throw FileError(file, "need JSON; got a zero byte");
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& error) {
    throw FileError(file, "need JSON; got an error: " +
                              detail::visible_text(std::string_view(error.what()).substr(0, 160)));
  }
}

}  // namespace

struct JsonEntry::Document {
  Json json;
  std::string file;
};

JsonEntry::JsonEntry(std::shared_ptr<const Document> document, const void* value, std::string key)
    : document_(std::move(document)), value_(value), key_(std::move(key)) {}

JsonEntry JsonEntry::parse(std::string_view json, const std::string& file) {
  const auto document = std::make_shared<const Document>(Document{parse_json(json, file), file});
  return {document, &document->json, ""};
}

JsonEntry JsonEntry::child(const void* value, const std::string& key) const {
  return {document_, value, key_ + key};
}

void JsonEntry::fail(const std::string& what) const {
  throw FileError(document_->file, (key_.empty() ? "" : key_ + ": ") + what);
}

void JsonEntry::need(const std::string& kind) const {
  const bool is_large = json_of(value_).is_structured();
  fail("need " + kind + "; got " +
       (is_large ? std::string("another kind of value")
                 : detail::quoted_text(is_text() ? text() : json())));
}

std::string JsonEntry::json() const {
  return json_of(value_).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::optional<JsonEntry> JsonEntry::find(const std::string& key) const {
  const Json& value = json_of(value_);
  if (!value.is_object()) need("an object");
  const auto found = value.find(key);
  if (found == value.end() || found->is_null()) return std::nullopt;
  return child(&*found, (key_.empty() ? "" : ".") + key);
}

JsonEntry JsonEntry::at(const std::string& key) const {
  if (std::optional<JsonEntry> found = find(key)) return std::move(*found);
  fail("need the key " + detail::quoted_text(key));
}

bool JsonEntry::flag_or(const std::string& key, bool otherwise) const {
  const std::optional<JsonEntry> found = find(key);
  return found ? found->flag() : otherwise;
}

void JsonEntry::check_values(std::size_t most) const {
  const std::size_t count = count_values(json_of(value_));
  if (count > most)
    fail("need at most " + detail::counted(most, "value") + "; got " + std::to_string(count));
}

void JsonEntry::allow(std::initializer_list<std::string_view> keys) const {
  each_member([&](const std::string& key, const JsonEntry&) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) return;
    fail("the option " + detail::quoted_text(key) +
         " is not supported; remove it if the model does not need it");
  });
}

const std::string& JsonEntry::text() const {
  if (!is_text()) need("a text");
  return json_of(value_).get_ref<const std::string&>();
}

bool JsonEntry::flag() const {
  if (!json_of(value_).is_boolean()) need("true or false");
  return json_of(value_).get<bool>();
}

std::uint64_t JsonEntry::number() const {
  if (!json_of(value_).is_number_unsigned()) need("a whole number from 0");
  return json_of(value_).get<std::uint64_t>();
}

std::uint32_t JsonEntry::id() const {
  if (number() >> 32 != 0) need("an id below 2^32");
  return static_cast<std::uint32_t>(number());
}

double JsonEntry::real() const {
  if (!json_of(value_).is_number()) need("a number");
  return json_of(value_).get<double>();
}

bool JsonEntry::is_text() const { return json_of(value_).is_string(); }
bool JsonEntry::is_list() const { return json_of(value_).is_array(); }

char32_t JsonEntry::character() const {
  const auto [bytes, code] = detail::first_character(text());
  if (bytes == 0 || bytes != text().size()) need("one character");
  return code;
}

void JsonEntry::each_item(const std::function<void(const JsonEntry&)>& f) const {
  if (!json_of(value_).is_array()) need("a list");
  std::size_t i = 0;
  for (const Json& item : json_of(value_)) f(child(&item, '[' + std::to_string(i++) + ']'));
}

void JsonEntry::each_member(
    const std::function<void(const std::string&, const JsonEntry&)>& f) const {
  if (!json_of(value_).is_object()) need("an object");
  for (const auto& [key, value] : json_of(value_).items()) {
    f(key, child(&value, '[' + detail::quoted_text(key) + ']'));
  }
}

}  // namespace dynet_like::nn::text
