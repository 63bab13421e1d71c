// A pretrained encoder: the options --encoder, --encoder-rate, --frozen and --adapters.
#pragma once

#include <optional>

#include "examples/full/support/options.h"
#include "nn/encoders/text_encoder.h"

namespace dynet_like::examples {

inline const Option kEncoder = {
    "encoder",
    "FOLDER",
    "",
    "",
    "also read texts by the pretrained encoder in FOLDER, and tune it; see docs/encoders.md",
    {},
    Option::Saved::remembered};
inline const Option kEncoderRate = {
    "encoder-rate", "X", "0.05", "0.05", "the encoder's factor of the learning rate", {0, 100}};
inline const Option kFrozen = {
    "frozen",
    "N",
    "0",
    "0",
    "tune only parts of the encoder: 1 leaves out the embeddings, 2 the first layer as well, ...",
    {0, 1000}};
inline const Option kAdapters = {
    "adapters",
    "N",
    "0",
    "0",
    "tune low-rank adapters of rank N (LoRA), not the encoder itself; 0: none",
    {0, 4096}};

/// The encoder of --encoder, if it is given. Throws FileError.
std::optional<nn::TextEncoder> load_encoder(const Options& options, ParameterCollection& model);
/// The encoder that is saved with a model, if there is one.
std::optional<nn::TextEncoder> saved_encoder(const Options& options, const nn::SavedModel& saved,
                                             ParameterCollection& model);
/// Its size; 0 if there is none.
unsigned size_of(const std::optional<nn::TextEncoder>& encoder);

/// Sets how an encoder is tuned, if there is one: its groups beside those of the trainer, a warm-up
/// and a decay of rates, and its texts for the saved model.
void tune(const std::optional<nn::TextEncoder>& encoder, const Options& options,
          std::size_t samples, Trainer& trainer, nn::TrainingOptions& training);

}  // namespace dynet_like::examples
