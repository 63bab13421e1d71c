// What a training loop is made of.
#include "nn/train.h"
#include "nn/train/best_model.h"
#include "nn/train/checkpoints.h"
#include "nn/train/evaluation.h"
#include "nn/train/fingerprint.h"
#include "nn/train/interrupt.h"
#include "nn/train/progress_bar.h"
#include "nn/train/run_settings.h"
#include "nn/train/timed_minibatches.h"
#include "nn/train/training_epoch.h"
#include "nn/train/training_log.h"
#include "nn/train/training_progress.h"
#include "nn/train/training_ranks.h"
#include "nn/train/updater.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

void use_metrics(Types& types) {
  types.use(nn::Accuracy(), [](const nn::Accuracy& accuracy) { accuracy.value(); });
  types.use(nn::ClassScores(2), [](nn::ClassScores& scores) {
    ATTEMPT(scores.count(0, 0), scores.of(0), scores.accuracy(), scores.micro(), scores.macro(),
            scores.add(1, 1), scores.classes());
  });
  types.use(nn::Perplexity(), [](const nn::Perplexity& perplexity) {
    EXPECT_EQ(perplexity.value(), 1);
    EXPECT_EQ(perplexity.nats(), 0);
  });
  types.use(nn::AttachmentScores(), [](nn::AttachmentScores& scores) {
    EXPECT_EQ(scores.unlabelled() + scores.labelled(), 0);
    ATTEMPT(scores.add(std::span<const nn::Arc>(), {}),
            scores.add(nn::ConlluSentence(), nn::ConlluSentence()));
  });
  types.use(nn::Bleu(), [](nn::Bleu& bleu) {
    ATTEMPT(bleu.value(), bleu.precision(1), bleu.brevity_penalty(),
            bleu.add({}, std::vector<std::string>()));
  });
  types.use(nn::SpanScores(), [](nn::SpanScores& scores) {
    ATTEMPT(scores.f1(), scores.add(std::vector<std::string>(), {}));
  });
}

void use_runs(Types& types, const ParameterCollection& model) {
  types.use(nn::TrainingOptions(), [&](nn::TrainingOptions& options) {
    SimpleSGDTrainer trainer(model);
    options.report.lines = nullptr;
    ATTEMPT(options.updates(3), nn::TrainingRun(trainer, options));
  });
  types.use(nn::TrainingProgress(), [](const nn::TrainingProgress& progress) {
    Metadata metadata;
    ATTEMPT(progress.mean_loss(), progress.add_to(metadata),
            nn::TrainingProgress::from(metadata, "file"));
  });
  const std::vector<int> none;
  types.use(nn::NumberedSamples(none), [](const auto& samples) { EXPECT_EQ(samples.size(), 0u); });
  types.use(nn::BestModel(model, ""),
            [](nn::BestModel& best) { ATTEMPT(best.load(), best.keep({}), best.load()); });
  const std::string folder = ::testing::TempDir();
  save_parameters(folder + "/best.safetensors", model, {{"size", "1"}});
  types.use(nn::SavedModel(folder), [&](const nn::SavedModel& saved) {
    const auto has_a_file = [](const auto& f) {
      try {
        f();
      } catch (const FileError&) {
      }
    };
    ATTEMPT(saved.metadata());
    has_a_file([&] { saved.text("size"); });
    has_a_file([&] { saved.number<unsigned>("size"); });
    has_a_file([&] { saved.vocabulary("size"); });
    has_a_file([&] { saved.load(model); });
  });
  AdamTrainer trainer(model);
  types.use(nn::RunSettings(nn::TrainingOptions(), trainer, "none", {}),
            [](const nn::RunSettings& settings) {
              Metadata metadata;
              ATTEMPT(settings.all(), settings.add_to(metadata));
            });
  types.use_where_it_is<nn::TrainingEpoch>([](nn::TrainingEpoch& epoch) {
    EXPECT_FALSE(epoch.has_loop());
    EXPECT_EQ(epoch.units_per_second(), 0);
    ATTEMPT(epoch.name_of_minibatch(), epoch.sample_seeds({1}));
  });
  types.use_where_it_is<nn::TimedMinibatches>([](nn::TimedMinibatches& timed) {
    timed.leave();
    timed.end({}, false);
  });
}

}  // namespace

void use_training(Types& types) {
  types
      .stay<nn::GroupSchedule, nn::TrainingRun, nn::TrainingRanks, nn::TrainingLog, nn::Checkpoints,
            nn::Updater, nn::LocalUpdater, nn::EventFile, nn::ProgressBar, nn::TimedEvent>();
  ParameterCollection model;
  model.add_parameters({2}, "W");
  const auto use_rate = [](const auto& schedule) {
    ATTEMPT(schedule.check(), schedule.rate(0), schedule.description());
  };
  types.use(nn::Schedule(nn::CosineRate()), use_rate);
  types.use(nn::WarmUp{2, nn::CosineRate()}, use_rate);
  use_metrics(types);
  nn::LearningCurve some;
  some.add({{"loss", 1}});
  types.use(some, [](nn::LearningCurve& curve) {
    ATTEMPT(curve.value("loss", 1), curve.value("none", 1), curve.to_csv(), curve.to_svg());
    EXPECT_LE(curve.columns().size(), curve.epochs());
    ATTEMPT(curve.add({{"loss", 1}}), curve.value("loss", curve.epochs()));
  });
  use_runs(types, model);
  types.use_where_it_is<nn::InterruptWatch>(
      [](const nn::InterruptWatch& watch) { watch.interrupted(); });
  types.use(nn::Fingerprint(), [](nn::Fingerprint& fingerprint) {
    fingerprint.add_words({});
    fingerprint.value();
  });
}

}  // namespace dynet_like
