// A pretrained encoder: the options --encoder, --encoder-rate, --frozen and --adapters.
#pragma once

#include <optional>

#include "examples/full/support/options.h"
#include "nn/encoders/text_encoder.h"

namespace dynet_like::examples {

void add_encoder_options(OptionTable& table);

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
