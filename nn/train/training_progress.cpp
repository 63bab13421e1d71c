// TrainingProgress as numbers in metadata.
#include "nn/train/training_progress.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/core/text.h"
#include "nn/train/fingerprint.h"

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

void TrainingProgress::add_to(Metadata& metadata) const {
  metadata["training.epochs"] = fmt::to_string(epochs);
  metadata["training.minibatches"] = fmt::to_string(minibatches);
  metadata["training.order"] = fmt::to_string(order);
  metadata["training.loss"] = fmt::to_string(loss);
  metadata["training.losses"] = fmt::to_string(losses);
  metadata["training.updates"] = fmt::to_string(updates);
  metadata["training.skipped"] = fmt::to_string(skipped);
  metadata["training.skipped_before"] = fmt::to_string(skipped_before);
  metadata["training.best_epoch"] = fmt::to_string(best_epoch);
  metadata["training.best_score"] = fmt::to_string(best_score);
  metadata["training.seconds"] = fmt::to_string(seconds);
  metadata["training.plateau_scale"] = fmt::to_string(plateau.scale);
  metadata["training.plateau_epochs"] = fmt::to_string(plateau.epochs_without_gain);
  metadata["training.curve"] = curve.to_csv();
}

TrainingProgress TrainingProgress::from(const Metadata& metadata, const std::string& file) {
  const auto read = [&]<class Number>(Number& number, const char* key) {
    number = number_in<Number>(metadata, key, file);
  };
  TrainingProgress progress;
  read(progress.epochs, "training.epochs");
  read(progress.minibatches, "training.minibatches");
  read(progress.order, "training.order");
  read(progress.loss, "training.loss");
  read(progress.losses, "training.losses");
  read(progress.updates, "training.updates");
  read(progress.skipped, "training.skipped");
  read(progress.skipped_before, "training.skipped_before");
  read(progress.best_epoch, "training.best_epoch");
  read(progress.best_score, "training.best_score");
  read(progress.seconds, "training.seconds");
  read(progress.plateau.scale, "training.plateau_scale");
  read(progress.plateau.epochs_without_gain, "training.plateau_epochs");
  const auto curve = metadata.find("training.curve");
  if (curve == metadata.end()) throw FileError(file, "need a learning curve in it; got none");
  progress.curve = LearningCurve::from_csv(curve->second, file + ", training.curve");
  if (progress.curve.epochs() != progress.epochs || progress.best_epoch > progress.epochs) {
    throw FileError(
        file,
        fmt::format("need a curve of all epochs, and the best among them; got {} and {} of {}",
                    progress.curve.epochs(), progress.best_epoch, progress.epochs));
  }
  // A loss may be anything, but there is no best NaN.
  if (std::isnan(progress.best_score) || !std::isfinite(progress.seconds) ||
      !std::isfinite(progress.plateau.scale)) {
    throw FileError(file,
                    fmt::format("need a best score, and finite seconds and scale of the "
                                "plateau; got {}, {} and {}",
                                progress.best_score, progress.seconds, progress.plateau.scale));
  }
  return progress;
}

std::uint64_t fingerprint(const Minibatches& minibatches) {
  Fingerprint all;
  for (const auto& samples : minibatches) {
    all.add(samples.size());
    for (const std::uint32_t sample : samples) all.add(sample);
  }
  return all.value() == 0 ? 1 : all.value();
}

}  // namespace dynet_like::nn
