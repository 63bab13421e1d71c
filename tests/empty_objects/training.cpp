// What a training loop is made of.
#include "dynet_like/dynet_like.h"
#include "dynet_like/io/safetensors.h"
#include "nn/train.h"
#include "nn/train/best_model.h"
#include "nn/train/checkpoints.h"
#include "nn/train/fingerprint.h"
#include "nn/train/interrupt.h"
#include "nn/train/progress_bar.h"
#include "nn/train/timed_minibatches.h"
#include "nn/train/evaluation.h"
#include "nn/train/run_settings.h"
#include "nn/train/training_epoch.h"
#include "nn/train/training_log.h"
#include "nn/train/training_progress.h"
#include "nn/train/training_ranks.h"
#include "nn/train/updater.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

void use_schedules(Types& types) {
  const auto use = [](const auto& schedule) {
    ATTEMPT(schedule.check());
    ATTEMPT(schedule.rate(0));
    ATTEMPT(schedule.description());
  };
  types.use("ConstantRate", nn::ConstantRate(), use);
  types.use("ExponentialRate", nn::ExponentialRate(), use);
  types.use("CosineRate", nn::CosineRate(), use);
  types.use("LinearRate", nn::LinearRate(), use);
  types.use("InverseSquareRootRate", nn::InverseSquareRootRate(), use);
  types.use("Schedule", nn::Schedule(nn::CosineRate()), use);
  types.use("WarmUp", nn::WarmUp{2, nn::CosineRate()}, [&](const nn::WarmUp& schedule) {
    use(schedule);
    ATTEMPT(nn::Schedule(schedule).rate(0));
  });
  types.use("Plateau", nn::Plateau(), [](const nn::Plateau& plateau) {
    plateau.check();
    plateau.after_epoch({}, true);
    plateau.description();
  });
}

void use_metrics(Types& types) {
  types.use("Accuracy", nn::Accuracy(), [](const nn::Accuracy& accuracy) { accuracy.value(); });
  types.use("PrecisionRecall", nn::PrecisionRecall(), [](const nn::PrecisionRecall& share) {
    EXPECT_EQ(share.precision() + share.recall() + share.f1(), 0);
  });
  types.use("ClassScores", nn::ClassScores(2), [](nn::ClassScores& scores) {
    ATTEMPT(scores.count(0, 0));
    ATTEMPT(scores.of(0));
    ATTEMPT(scores.accuracy());
    ATTEMPT(scores.micro());
    ATTEMPT(scores.macro());
    ATTEMPT(scores.add(1, 1));
    ATTEMPT(scores.classes());
  });
  types.use("Perplexity", nn::Perplexity(), [](const nn::Perplexity& perplexity) {
    EXPECT_EQ(perplexity.value(), 1);
    EXPECT_EQ(perplexity.nats(), 0);
  });
  types.use("AttachmentScores", nn::AttachmentScores(), [](nn::AttachmentScores& scores) {
    EXPECT_EQ(scores.unlabelled() + scores.labelled(), 0);
    ATTEMPT(scores.add(std::span<const nn::Arc>(), {}));
    ATTEMPT(scores.add(nn::ConlluSentence(), nn::ConlluSentence()));
  });
  types.use("Bleu", nn::Bleu(), [](nn::Bleu& bleu) {
    ATTEMPT(bleu.value());
    ATTEMPT(bleu.precision(1));
    ATTEMPT(bleu.brevity_penalty());
    ATTEMPT(bleu.add({}, std::vector<std::string>()));
  });
  types.use("SpanScores", nn::SpanScores(), [](nn::SpanScores& scores) {
    ATTEMPT(scores.f1());
    ATTEMPT(scores.add(std::vector<std::string>(), {}));
  });
}

void use_learning_curve(nn::LearningCurve& curve) {
  ATTEMPT(curve.value("loss", 1));
  ATTEMPT(curve.value("none", 1));
  ATTEMPT(curve.to_csv());
  ATTEMPT(curve.to_svg());
  EXPECT_LE(curve.columns().size(), curve.epochs());
  ATTEMPT(curve.add({{"loss", 1}}));
  ATTEMPT(curve.value("loss", curve.epochs()));
}

void use_runs(Types& types, const ParameterCollection& model) {
  types.use("TrainingOptions", nn::TrainingOptions(), [&](nn::TrainingOptions& options) {
    ATTEMPT(options.updates(3));
    SimpleSGDTrainer trainer(model);
    options.report.lines = nullptr;
    ATTEMPT(nn::TrainingRun(trainer, options));
  });
  types.use("TrainingProgress", nn::TrainingProgress(), [](const nn::TrainingProgress& progress) {
    Metadata metadata;
    ATTEMPT(progress.mean_loss());
    ATTEMPT(progress.add_to(metadata));
    ATTEMPT(nn::TrainingProgress::from(metadata, "file"));
  });
  const std::vector<int> none;
  types.use("NumberedSamples", nn::NumberedSamples(none),
            [](const auto& samples) { EXPECT_EQ(samples.size(), 0u); });
  types.use("BestModel", nn::BestModel(model, ""), [](nn::BestModel& best) {
    ATTEMPT(best.load());
    ATTEMPT(best.keep({}));
    ATTEMPT(best.load());
  });
  const std::string folder = ::testing::TempDir();
  save_parameters(folder + "/best.safetensors", model, {{"size", "1"}});
  types.use("SavedModel", nn::SavedModel(folder), [&](const nn::SavedModel& saved) {
    ATTEMPT(saved.metadata());
    const auto attempt_file = [](const auto& f) {
      try {
        f();
      } catch (const FileError&) {
      }
    };
    attempt_file([&] { saved.text("size"); });
    attempt_file([&] { saved.number<unsigned>("size"); });
    attempt_file([&] { saved.vocabulary("size"); });
    attempt_file([&] { saved.load(model); });
  });
  AdamTrainer of_settings(model);
  types.use("RunSettings", nn::RunSettings(nn::TrainingOptions(), of_settings, "none", {}),
            [](const nn::RunSettings& settings) {
              Metadata metadata;
              ATTEMPT(settings.all());
              ATTEMPT(settings.add_to(metadata));
            });
  types.use_where_it_is<nn::TrainingEpoch>("TrainingEpoch", [](nn::TrainingEpoch& epoch) {
    EXPECT_FALSE(epoch.has_loop());
    EXPECT_EQ(epoch.units_per_second(), 0);
    ATTEMPT(epoch.name_of_minibatch());
    ATTEMPT(epoch.sample_seeds({1}));
  });
  types.use_where_it_is<nn::TrainingState>(
      "TrainingState", [](nn::TrainingState& run) { EXPECT_EQ(run.progress.mean_loss(), 0); });
  types.use_where_it_is<nn::TimedMinibatches>("TimedMinibatches", [](nn::TimedMinibatches& timed) {
    timed.leave();
    timed.end({}, false);
  });
  types.use("RankWord", nn::RankWord(), [](const nn::RankWord&) {});
}

}  // namespace

void use_training(Types& types) {
  types
      .stay<nn::GroupSchedule, nn::TrainingRun, nn::TrainingRanks, nn::TrainingLog, nn::Checkpoints,
            nn::Updater, nn::LocalUpdater, nn::EventFile, nn::ProgressBar, nn::TimedEvent>();
  ParameterCollection model;
  model.add_parameters({2}, "W");
  use_schedules(types);
  use_metrics(types);
  nn::LearningCurve curve;
  curve.add({{"loss", 1}});
  types.use("LearningCurve", curve, use_learning_curve);
  use_runs(types, model);
  types.use_where_it_is<nn::InterruptWatch>(
      "InterruptWatch", [](const nn::InterruptWatch& watch) { watch.interrupted(); });
  types.use("Fingerprint", nn::Fingerprint(), [](nn::Fingerprint& fingerprint) {
    fingerprint.add_words({});
    fingerprint.value();
  });
}

}  // namespace dynet_like
