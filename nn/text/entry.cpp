// Entries by nlohmann's JSON.
#include "nn/text/entry.h"

#include <algorithm>

#include "dynet_like/core/text.h"
#include "nn/text/json.h"

namespace dynet_like::nn::text {

namespace {

using Json = nlohmann::json;

const Json& json_of(const void* value) { return *static_cast<const Json*>(value); }

}  // namespace

struct Entry::Document {
  Json json;
  std::string file;
};

Entry::Entry(std::shared_ptr<const Document> document, const void* value, std::string key)
    : document_(std::move(document)), value_(value), key_(std::move(key)) {}

Entry Entry::parse(std::string_view json, const std::string& file) {
  const auto document = std::make_shared<const Document>(Document{parse_json(json, file), file});
  return {document, &document->json, ""};
}

Entry Entry::child(const void* value, const std::string& key) const {
  return {document_, value, key_ + key};
}

void Entry::fail(const std::string& what) const {
  throw FileError(document_->file, (key_.empty() ? "" : key_ + ": ") + what);
}

void Entry::need(const std::string& kind) const {
  const Json& value = json_of(value_);
  const std::string got = value.is_structured() ? std::string("another kind of value")
                                                : detail::quoted_text(value.dump());
  fail("need " + kind + "; got " + got);
}

std::optional<Entry> Entry::find(const std::string& key) const {
  const Json& value = json_of(value_);
  if (!value.is_object()) need("an object");
  const auto found = value.find(key);
  if (found == value.end() || found->is_null()) return std::nullopt;
  return child(&*found, (key_.empty() ? "" : ".") + key);
}

Entry Entry::at(const std::string& key) const {
  if (std::optional<Entry> found = find(key)) return std::move(*found);
  fail("need the key " + detail::quoted_text(key));
}

bool Entry::flag_or(const std::string& key, bool otherwise) const {
  const std::optional<Entry> found = find(key);
  return found ? found->flag() : otherwise;
}

void Entry::allow(std::initializer_list<std::string_view> keys) const {
  each_member([&](const std::string& key, const Entry&) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) return;
    fail("the option " + detail::quoted_text(key) +
         " is not supported; remove it if the model does not need it");
  });
}

const std::string& Entry::text() const {
  if (!is_text()) need("a text");
  return json_of(value_).get_ref<const std::string&>();
}

bool Entry::flag() const {
  if (!json_of(value_).is_boolean()) need("true or false");
  return json_of(value_).get<bool>();
}

std::uint64_t Entry::number() const {
  if (!json_of(value_).is_number_unsigned()) need("a whole number from 0");
  return json_of(value_).get<std::uint64_t>();
}

std::uint32_t Entry::id() const {
  if (number() >> 32 != 0) need("an id below 2^32");
  return static_cast<std::uint32_t>(number());
}

double Entry::real() const {
  if (!json_of(value_).is_number()) need("a number");
  return json_of(value_).get<double>();
}

bool Entry::is_text() const { return json_of(value_).is_string(); }

void Entry::each_item(const std::function<void(const Entry&)>& f) const {
  if (!json_of(value_).is_array()) need("a list");
  std::size_t i = 0;
  for (const Json& item : json_of(value_)) f(child(&item, '[' + std::to_string(i++) + ']'));
}

void Entry::each_member(const std::function<void(const std::string&, const Entry&)>& f) const {
  if (!json_of(value_).is_object()) need("an object");
  for (const auto& [key, value] : json_of(value_).items()) {
    f(key, child(&value, '[' + detail::quoted_text(key) + ']'));
  }
}

}  // namespace dynet_like::nn::text
