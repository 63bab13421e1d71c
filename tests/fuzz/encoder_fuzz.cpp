// Fuzzes the JSON files of encoders: a config.json up to a zero byte, and an index of shards.
#include <string>
#include <string_view>

#include "nn/encoders/encoder_config.h"
#include "nn/encoders/family.h"
#include "nn/encoders/shards.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

// What was accepted is consistent, and is written as text that reads as the same.
void check(const nn::EncoderConfig& config) {
  config.check();
  const std::string text = config.to_text();
  require(nn::EncoderConfig::from_text(text).to_text() == text);
  const nn::encoders::Family* const family = nn::encoders::find_family(config.model_type);
  require(family != nullptr && nn::encoders::find_activation(config.activation) != nullptr);
  require(nn::encoders::tensors_of(*family, config).size() >= config.layers);
}

}  // namespace

void run(const std::string& text) {
  const std::string_view input = text;
  const std::size_t end = input.find('\0');
  may_refuse([&] { check(nn::EncoderConfig::from_text(input.substr(0, end), "fuzz")); });
  may_refuse([&] {
    for (const std::string& name :
         nn::encoders::shard_names(end == input.npos ? input : input.substr(end + 1), "fuzz")) {
      require(name.find('/') == name.npos && name.find('\\') == name.npos);
      require(!name.starts_with('.') && name.ends_with(".safetensors"));
    }
  });
}

}  // namespace dynet_like::fuzz
