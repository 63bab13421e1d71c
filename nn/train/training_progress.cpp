// TrainingProgress: writes and reads its numbers in metadata.
#include "nn/train/training_progress.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn {

template <class Number>
Number number_in(const Metadata& metadata, const std::string& key, const std::string& file) {
  const auto found = metadata.find(key);
  const std::string text = found == metadata.end() ? "" : found->second;
  Number number = {};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (!text.empty() && error == std::errc() && stop == end) return number;
  throw FileError(
      file, fmt::format("need a number as {} in its metadata; got {}", detail::quoted_text(key),
                        found == metadata.end() ? "none" + detail::nearest_keys_text(key, metadata)
                                                : detail::quoted_text(text)));
}

template double number_in(const Metadata&, const std::string&, const std::string&);
template float number_in(const Metadata&, const std::string&, const std::string&);
template unsigned number_in(const Metadata&, const std::string&, const std::string&);
template std::uint64_t number_in(const Metadata&, const std::string&, const std::string&);

namespace {

/// Calls f(key, number) for each number of the progress.
template <class Progress, class F>
void for_each_number(Progress& progress, const F& f) {
  f("training.epochs", progress.epochs);
  f("training.minibatches", progress.minibatches);
  f("training.order", progress.order);
  f("training.loss", progress.loss);
  f("training.losses", progress.losses);
  f("training.updates", progress.updates);
  f("training.skipped", progress.skipped);
  f("training.skipped_before", progress.skipped_before);
  f("training.without_loss", progress.without_loss);
  f("training.without_loss_before", progress.without_loss_before);
  f("training.best_epoch", progress.best_epoch);
  f("training.best_score", progress.best_score);
  f("training.seconds", progress.seconds);
  f("training.plateau_scale", progress.plateau.scale);
  f("training.plateau_epochs", progress.plateau.epochs_without_gain);
}

}  // namespace

void TrainingProgress::add_to(Metadata& metadata) const {
  for_each_number(
      *this, [&](const char* key, const auto& number) { metadata[key] = fmt::to_string(number); });
  metadata["training.curve"] = curve.to_csv();
}

TrainingProgress TrainingProgress::from(const Metadata& metadata, const std::string& file) {
  TrainingProgress progress;
  for_each_number(progress, [&]<class Number>(const char* key, Number& number) {
    number = number_in<Number>(metadata, key, file);
  });
  const auto curve = metadata.find("training.curve");
  if (curve == metadata.end()) throw FileError(file, "need a learning curve in it; got none");
  progress.curve = LearningCurve::from_csv(curve->second, file + ", training.curve");
  if (progress.curve.epochs() != progress.epochs || progress.best_epoch > progress.epochs) {
    throw FileError(
        file,
        fmt::format("need a curve of all epochs, and the best among them; got {} and {} of {}",
                    progress.curve.epochs(), progress.best_epoch, progress.epochs));
  }
  // A loss may be any number, but the best score is never NaN.
  if (std::isnan(progress.best_score) || !std::isfinite(progress.seconds) ||
      !std::isfinite(progress.plateau.scale)) {
    throw FileError(file,
                    fmt::format("need a best score, and finite seconds and scale of the "
                                "plateau; got {}, {} and {}",
                                progress.best_score, progress.seconds, progress.plateau.scale));
  }
  return progress;
}

}  // namespace dynet_like::nn
