// The components of tokenizer.json, from their entries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/text/aligned_text.h"
#include "nn/text/decoders.h"
#include "nn/text/json_entry.h"
#include "nn/text/models.h"
#include "nn/text/post_processor.h"
#include "nn/text/pre_tokenizers.h"
#include "nn/text/splits.h"

namespace dynet_like::nn::text {

// They throw FileError with the key for a component or an option that is not supported.

Normalizer read_normalizer(const JsonEntry& entry);
std::vector<PreTokenizer> read_pre_tokenizer(const JsonEntry& entry);
std::unique_ptr<const Model> read_model(const JsonEntry& entry);
PostProcessor read_post_processor(const JsonEntry& entry);
Decoder read_decoder(const JsonEntry& entry);

/// The options of Metaspace, as a pre-tokenizer or a decoder.
MetaspaceOptions read_metaspace_options(const JsonEntry& entry);
/// A text that is looked for at each place of others: at most 1,000 bytes.
const std::string& read_sought(const JsonEntry& entry);
/// The matches of {"String": ...} or {"Regex": ...}.
Pattern read_pattern(const JsonEntry& entry);

/// The value for the type of a component.
template <class T>
T component(const JsonEntry& entry, std::initializer_list<std::pair<std::string_view, T>> types) {
  return entry.at("type").choice<T>(types, "a component that is supported, one of ");
}

}  // namespace dynet_like::nn::text
