// A pretrained encoder: where it comes from, and how it is tuned.
#include "examples/full/support/encoder.h"

namespace dynet_like::examples {

namespace {

nn::TextEncoder adapted(const nn::TextEncoder& encoder, const Options& options,
                        ParameterCollection& model) {
  const unsigned rank = options.whole("adapters");
  return rank == 0 ? encoder : encoder.with_adapters(model, {.rank = rank});
}

}  // namespace

void add_encoder_options(OptionTable& table) {
  table
      .word(
          "encoder", "FOLDER", "",
          "also read texts by the pretrained encoder in FOLDER, and tune it; see docs/encoders.md")
      .saved = Option::Saved::remembered;
  table.real("encoder-rate", {0, 100}, "0.05", "the encoder's factor of the learning rate");
  table.whole("frozen", {0, 1000}, "0",
              "tune only parts of the encoder: 1 leaves out the embeddings, 2 the first layer as "
              "well, ...");
  table.whole("adapters", {0, 4096}, "0",
              "tune low-rank adapters of rank N (LoRA), not the encoder itself; 0: none");
}

std::optional<nn::TextEncoder> load_encoder(const Options& options, ParameterCollection& model) {
  if (!options.has("encoder")) return {};
  return adapted(nn::TextEncoder::load(model, options.text("encoder")), options, model);
}

std::optional<nn::TextEncoder> saved_encoder(const Options& options, const nn::SavedModel& saved,
                                             ParameterCollection& model) {
  if (!nn::TextEncoder::is_in(saved.metadata())) return {};
  return adapted(nn::TextEncoder(model, saved.metadata()), options, model);
}

unsigned size_of(const std::optional<nn::TextEncoder>& encoder) {
  return encoder ? encoder->size() : 0;
}

void tune(const std::optional<nn::TextEncoder>& encoder, const Options& options,
          std::size_t samples, Trainer& trainer, nn::TrainingOptions& training) {
  if (!encoder) return;
  std::vector<ParameterGroup> groups = encoder->encoder().groups(
      {.rate = options.real("encoder-rate"), .frozen = options.whole("frozen")});
  groups.insert(groups.end(), trainer.groups().begin(), trainer.groups().end());
  trainer.set_groups({});
  training.schedule.groups = {{1, groups}};
  const std::uint64_t updates = training.updates(samples);
  training.schedule.rate = nn::WarmUp{
      updates / 10 + 1, nn::CosineRate{.peak = options.real("learning-rate"), .updates = updates}};
  training.schedule.by_epoch = false;
  training.files.texts.merge(encoder->texts());
}

}  // namespace dynet_like::examples
