// Quotes the names of numbers.
#include "nn/encoders/python_json.h"

#include <algorithm>

namespace dynet_like::nn::encoders {

std::string standard_json(std::string_view python) {
  constexpr std::string_view kNumbers[] = {"NaN", "Infinity", "-Infinity"};
  std::string json;
  json.reserve(python.size());
  bool in_text = false;
  for (std::size_t at = 0; at < python.size();) {
    const std::string_view rest = python.substr(at);
    const auto* const number = std::ranges::find_if(
        kNumbers, [&](std::string_view name) { return !in_text && rest.starts_with(name); });
    if (number != std::end(kNumbers)) {
      json += '"' + std::string(*number) + '"';
      at += number->size();
      continue;
    }
    if (rest.front() == '"') in_text = !in_text;
    const std::size_t taken =
        in_text && rest.front() == '\\' ? std::min<std::size_t>(2, rest.size()) : 1;
    json += rest.substr(0, taken);
    at += taken;
  }
  return json;
}

}  // namespace dynet_like::nn::encoders
