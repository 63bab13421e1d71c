// JSON files: their size and depth.
#include "nn/encoders/json_text.h"

#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/input_file.h"

namespace dynet_like::nn::encoders {

std::string read_text(const std::string& path, const char* user) {
  constexpr std::uint64_t kMostBytes = 1 << 26;
  dynet_like::detail::InputFile file(path, user);
  if (file.size() > kMostBytes) {
    throw FileError(path, fmt::format("[{}] need a file of at most {} bytes; got {}", user,
                                      kMostBytes, file.size()));
  }
  std::string text(file.size(), ' ');
  file.read(std::as_writable_bytes(std::span(text)));
  return text;
}

void check_json(std::string_view text, const std::string& file, const char* user) {
  constexpr int kMostDepth = 16;
  const auto check = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth <= kMostDepth) return true;
    throw FileError(file,
                    fmt::format("[{}] need JSON of at most {} levels; got more", user, kMostDepth));
  };
  try {
    if (nlohmann::json::parse(text, check).is_object()) return;
  } catch (const nlohmann::json::exception& error) {
    throw FileError(file, fmt::format("[{}] need JSON; got an error: {}", user, error.what()));
  }
  throw FileError(file, fmt::format("[{}] need a JSON object; got another value", user));
}

}  // namespace dynet_like::nn::encoders
