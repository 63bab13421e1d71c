// parse_json, with its bounds.
#include "nn/text/json.h"

#include <cstddef>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::nn::text {

namespace {

using Json = nlohmann::json;
using dynet_like::detail::counted;

constexpr int kMostDepth = 16;
constexpr std::size_t kMostValues = 1 << 23;  // the largest files have some 2^21

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& file) {
  std::size_t values = 0;
  const auto check = [&](int depth, Json::parse_event_t event, Json&) {
    if (depth > kMostDepth) {
      throw FileError(file, "need at most " + counted(kMostDepth, "level") + " of JSON");
    }
    const bool ends =
        event == Json::parse_event_t::array_end || event == Json::parse_event_t::object_end;
    if (!ends && ++values > kMostValues) {
      throw FileError(file, "need at most " + counted(kMostValues, "value") + " of JSON");
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& error) {
    throw FileError(file, std::string("need JSON; got an error: ") + error.what());
  }
}

}  // namespace dynet_like::nn::text
