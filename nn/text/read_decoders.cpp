// Decoders from their entries.
#include <utility>

#include "nn/text/components.h"

namespace dynet_like::nn::text {

namespace {

using ReadDecoder = Decoder (*)(const JsonEntry&);

template <void (*decode)(std::vector<std::string>&)>
Decoder read_plain_decoder(const JsonEntry& entry) {
  entry.allow({"type"});
  return decode;
}

Decoder read_byte_level_decoder(const JsonEntry& entry) {
  entry.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  return decode_bytes;
}

Decoder read_word_piece_decoder(const JsonEntry& entry) {
  entry.allow({"type", "prefix", "cleanup"});
  return word_piece_decoder(entry.at("prefix").text(), entry.at("cleanup").flag());
}

Decoder read_metaspace_decoder(const JsonEntry& entry) {
  return metaspace_decoder(read_metaspace_options(entry));
}

Decoder read_byte_pair_decoder(const JsonEntry& entry) {
  entry.allow({"type", "suffix"});
  return byte_pair_decoder(read_sought(entry.at("suffix")));
}

Decoder read_ctc_decoder(const JsonEntry& entry) {
  entry.allow({"type", "pad_token", "word_delimiter_token", "cleanup"});
  return ctc_decoder(read_sought(entry.at("pad_token")),
                     read_sought(entry.at("word_delimiter_token")), entry.at("cleanup").flag());
}

Decoder read_strip_decoder(const JsonEntry& entry) {
  entry.allow({"type", "content", "start", "stop"});
  return strip_decoder(entry.at("content").character(), entry.at("start").number(),
                       entry.at("stop").number());
}

Decoder read_replace_decoder(const JsonEntry& entry) {
  entry.allow({"type", "pattern", "content"});
  return replace_decoder(read_pattern(entry.at("pattern")), entry.at("content").text());
}

Decoder read_decoders(const JsonEntry& entry) {
  entry.allow({"type", "decoders"});
  std::vector<Decoder> all;
  entry.at("decoders").each_item([&](const JsonEntry& item) { all.push_back(read_decoder(item)); });
  return [all = std::move(all)](std::vector<std::string>& pieces) {
    for (const Decoder& decoder : all) decoder(pieces);
  };
}

}  // namespace

Decoder read_decoder(const JsonEntry& entry) {
  return component<ReadDecoder>(entry, {{"ByteLevel", read_byte_level_decoder},
                                        {"WordPiece", read_word_piece_decoder},
                                        {"Metaspace", read_metaspace_decoder},
                                        {"BPEDecoder", read_byte_pair_decoder},
                                        {"CTC", read_ctc_decoder},
                                        {"Fuse", read_plain_decoder<fuse>},
                                        {"Strip", read_strip_decoder},
                                        {"Replace", read_replace_decoder},
                                        {"ByteFallback", read_plain_decoder<decode_fallback>},
                                        {"Sequence", read_decoders}})(entry);
}

}  // namespace dynet_like::nn::text
