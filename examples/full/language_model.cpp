// Language model: learns to predict a text, with automatic batching over streams of it. Each stream
// is recorded separately, with a plain loop over its characters or words. The model is a stack of
// LSTMs with dropout between them (Zaremba et al. 2014). Training is truncated backpropagation: the
// state at the end of a piece is data for the next piece. Run time of one thread, on a busy
// machine:
//   language_model
//       sentences of a small grammar: 0.354 nats per character (no model can do better than 0.337);
//       30 seconds
//   language_model --train FILE
//       Shakespeare's plays, 1.1 million characters (Karpathy 2015): about 1.5 nats per character
//       in the last tenth; about 10 minutes
// The model is language_model/model.h, truncated backpropagation language_model/streams.h.
#include <limits>

#include <fmt/ostream.h>

#include "examples/full/language_model/streams.h"
#include "examples/full/language_model/task.h"
#include "examples/full/support/program.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;

constexpr unsigned kHeldOutStreams = 32;

void add_options(OptionTable& table) {
  table.file("train", "a text; without one, sentences of a small grammar are generated");
  table.whole("sentences", {100, 1e6}, "10000", kNever, "number of generated sentences");
  table.word("level", "character|word", "character", "the units that are predicted");
  table.whole("min-count", {1, 1e6}, "2",
              "units that occur fewer than N times in training are unknown");
  table.whole("embedding", {1, 4096}, "16", "64", "size of a character's or word's vector");
  table.whole("hidden", {1, 4096}, "128", "256", "size of h and c of every LSTM");
  table.whole("layers", {1, 16}, "1", "2", "LSTMs on top of each other");
  table.real("dropout", {0, 0.95}, "0", "0.2", "dropout rate of their outputs");
  table.whole("sequence-length", {2, 1e4}, "32", "64", "units of each stream between updates");
  table.real("clip", {1e-6, 1e6}, "0.25", "clip the norm of the gradient to X");
  constexpr auto not_saved = Option::Saved::no;
  table.whole("sample", {1, 1e5}, "", "do not train; write N units").saved = not_saved;
  table
      .real("temperature", {0.01, 100}, "1",
            "divides scores; below 1, likely units become more likely")
      .saved = not_saved;
  table.word("prompt", "TEXT", "", "text that the sample continues").saved = not_saved;
}

const Program kProgram = {
    "language_model",
    "Learns to predict a text, keeps the last tenth for testing, and writes a sample.\n"
    "--apply reads lines, and writes \"nats per character TAB line\" for each. The end of a line\n"
    "counts as a character.\n",
    add_options,
    {{"6", "8"}, {"16", "32"}, {"0.01", "0.002"}, {"0.6", "0.85"}}};

nn::TextUnit unit_of(const Options& options) {
  return options.text("level") == "word" ? nn::TextUnit::word : nn::TextUnit::character;
}

Task load_task(const Options& options) {
  const nn::TextUnit unit = unit_of(options);
  const std::string file = options.text("train");
  const unsigned min_count = options.whole("min-count");
  if (!file.empty()) return make_task(nn::read_text(file, unit), file, unit, min_count);
  return generated_task(options.whole("sentences"), options.seed(), unit, min_count);
}

ModelOptions model_options(const Options& options, const Encoding& encoding) {
  return {.units = encoding.vocabulary.size(),
          .embedding = options.whole("embedding"),
          .hidden = options.whole("hidden"),
          .layers = options.whole("layers"),
          .dropout = options.real("dropout")};
}

/// The prompt, and `count` characters or words that the model draws after it.
std::string sampled_text(const LanguageModel& model, const Encoding& encoding,
                         const Options& options, unsigned count) {
  ComputationGraph graph({.inference = true});
  std::vector<float> forbidden(encoding.vocabulary.size(), 0.0f);
  forbidden[*encoding.vocabulary.unknown()] = -std::numeric_limits<float>::infinity();
  const Expression never = input(graph, {encoding.vocabulary.size()}, forbidden);
  const nn::Steps<LanguageModel::State> steps = {
      .scores = [&](const auto& state) { return model.scores(state) + never; },
      .advance = [&](const auto& state, unsigned unit) { return model.step(state, unit); }};
  std::vector<unsigned> units = encoding.beginning(options.text("prompt"));
  LanguageModel::State state = model.start(graph);
  for (const unsigned unit : units) state = model.step(state, unit);
  Random random(options.seed());
  const nn::SearchOptions how = {.max_length = count, .temperature = options.real("temperature")};
  const std::vector<unsigned> drawn = nn::sample(state, steps, random, how).actions;
  units.insert(units.end(), drawn.begin(), drawn.end());
  return encoding.text(std::span(units).subspan(1));
}

int train(const Options& options) {
  const Task task = load_task(options);
  ParameterCollection parameters(options.seed());
  const LanguageModel model(parameters, model_options(options, task.encoding));
  const Streams streams(task.train(), options.whole("batch-size"),
                        options.whole("sequence-length"));
  // A checkpoint in the middle of an epoch must include the states of the streams.
  StreamReader reader(model, streams, parameters.add_subcollection("streams"));
  AdamTrainer trainer(parameters);
  trainer.enable_clipping(options.real("clip"));
  nn::TrainingOptions training = options.training("characters", "nats per character");
  if (options.whole("staleness") > 0 || options.whole("backup-ranks") > 0) {
    throw UsageError(
        "need processes that share each minibatch, whose states go on in the next; got "
        "--staleness or --backup-ranks");
  }
  training.stopping.better = nn::Better::smaller;
  training.report.score_text = [](double nats) { return fmt::format("{:.4f}", nats); };
  training.report.units_per_sample = static_cast<double>(task.train_characters) /
                                     static_cast<double>(streams.pieces() * streams.count());
  training.files.texts["vocabulary"] = task.encoding.vocabulary.to_text();
  fmt::print("{} characters to train on, {} held out; {} different {}s; {} parameters\n",
             task.train_characters, task.held_out_characters, task.encoding.vocabulary.size(),
             options.text("level"), parameters.parameter_count());
  flush_output();
  nn::TrainingRun run(trainer, training);
  Minibatch batch(training.graph);
  while (run.next_epoch(streams.minibatches())) {
    while (run.next(batch)) {
      const auto& some = run.samples();
      const std::size_t piece = run.progress().minibatches;
      reader.add_losses(batch, some, piece);
      batch.forward();
      reader.read_states(options.ranks());  // before the parameters change
      run.update(batch, streams.predictions(piece, some));
      reader.keep_states();
    }
    run.finish_epoch([&] {
      return total_nats(model, task.held_out(), kHeldOutStreams, options.whole("threads"),
                        options.ranks()) /
             static_cast<double>(task.held_out_characters);
    });
  }
  if (run.interrupted()) return stopped();
  if (options.has("explain")) fmt::print("{}\n", fmt::streamed(batch.explain()));
  const double nats = run.progress().best_score, speed = run.units_per_second();
  nlohmann::json report = {{"nats_per_character", nats},
                           {"best_epoch", run.progress().best_epoch},
                           {"characters_per_second", nullptr}};  // null, unless it has trained
  if (speed > 0) report["characters_per_second"] = speed;
  const bool is_words = task.encoding.unit == nn::TextUnit::word;
  if (is_words) {  // the end of a line counts as a word
    nn::Perplexity perplexity;
    perplexity.add(nats * static_cast<double>(task.held_out_characters), task.held_out_size());
    report["perplexity_per_word"] = perplexity.value();
    fmt::print("perplexity {:.1f} per word\n", perplexity.value());
  }
  if (task.least_nats > 0) {
    fmt::print("no model can do better than {:.4f} nats per character\n", task.least_nats);
  }
  fmt::print("{}\n\n", sampled_text(model, task.encoding, options, is_words ? 60 : 300));
  return finish(options, training, run.progress(), report);
}

std::string nats_of_lines(std::span<const std::string> lines, const LanguageModel& model,
                          const Encoding& encoding, const Options& options) {
  const auto nats_of = [&](ComputationGraph& graph, const std::string& line) {
    return as_scalar(model.read(model.start(graph), encoding.line(line)).loss.value());
  };
  const auto nats = nn::predict(lines, nats_of, {.graph = options.graph()});
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto characters = static_cast<double>(nn::count_characters(lines[i]) + 1);
    text += fmt::format("{:.4f}\t{}\n", nats[i] / characters, lines[i]);
  }
  return text;
}

int use(Options& options) {
  const nn::SavedModel saved = options.load_model();
  const Encoding encoding = {unit_of(options), saved.vocabulary("vocabulary")};
  ParameterCollection parameters;
  const LanguageModel model(parameters, model_options(options, encoding));
  // The file also has the states of the streams, which are not needed here.
  saved.load(parameters, ExtraTensors::ignore);
  if (options.has("sample")) {
    fmt::print("{}\n", sampled_text(model, encoding, options, options.whole("sample")));
    return 0;
  }
  constexpr std::size_t kTogether = 64;
  answer_lines(std::cin, std::cout, kTogether, [&](const auto& lines, std::size_t) {
    return nats_of_lines(lines, model, encoding, options);
  });
  return 0;
}

int train_or_sample(Options& options) {
  options.need_only("sample", {"output", "temperature", "prompt", "seed", "device"});
  return options.has("sample") ? use(options) : train(options);
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train_or_sample, use); }
