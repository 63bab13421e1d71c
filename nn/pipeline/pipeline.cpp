// Puts the parts of a pipeline together, trains, saves and loads them.
#include "nn/pipeline/pipeline.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <sstream>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/train/trainers.h"
#include "nn/data/word_vectors.h"
#include "nn/evaluate/metrics.h"
#include "nn/evaluate/predict.h"
#include "nn/train/train.h"

namespace dynet_like::nn {

namespace {

constexpr char kKind[] = "pipeline.kind", kKindValue[] = "raw text to CoNLL-U, 2";
constexpr std::size_t kWordsTogether = 4000;
constexpr std::size_t kSizesTogether = 2000;  // in a graph: words, or characters of windows

/// Calls use(name, number) for every size that a saved model needs.
template <class Options, class Use>
void for_sizes(Options& options, const Use& use) {
  use("segmenter.embedding", options.segmenter.embedding);
  use("segmenter.hidden", options.segmenter.hidden);
  use("segmenter.layers", options.segmenter.layers);
  use("segmenter.spaces", options.segmenter.spaces);
  use("encoder.word", options.encoder.word);
  use("encoder.character", options.encoder.character);
  use("encoder.spelling", options.encoder.spelling);
  use("encoder.hidden", options.encoder.hidden);
  use("encoder.layers", options.encoder.layers);
  use("encoder.pretrained", options.encoder.pretrained);
  use("parser.tags", options.parser.tags);
  use("parser.arcs", options.parser.arcs);
  use("parser.labels", options.parser.labels);
}

/// Calls use(name, vocabulary) for every vocabulary.
template <class Encoder, class Parser, class Use>
void for_vocabularies(Encoder& encoder, Parser& parser, const Use& use) {
  use("words", encoder.words);
  use("characters", encoder.characters);
  use("upos", parser.upos);
  use("xpos", parser.xpos);
  use("feats", parser.feats);
  use("lemmas", parser.lemmas);
  use("labels", parser.labels);
}

const SavedModel& checked(const SavedModel& saved) {
  if (saved.text(kKind) == kKindValue) return saved;
  throw UsageError("[Pipeline] need a model of this kind: " + std::string(kKindValue) + "; got " +
                   saved.text(kKind));
}

PipelineOptions options_of(const SavedModel& saved) {
  PipelineOptions options;
  for_sizes(options, [&](const char* name, auto& size) { size = saved.number<unsigned>(name); });
  return options;
}

// All values come from a file, so that drawing them would be lost time.
ParameterCollection to_load() {
  ParameterCollection model;
  model.get_storage().draws = false;
  return model;
}

void prepare(TrainingOptions& options, std::size_t samples, float rate) {
  options.sum_losses = false;
  const std::uint64_t updates = options.updates(samples);
  options.schedule.rate = WarmUp{std::min<std::uint64_t>(100, updates / 10 + 1),
                                 CosineRate{.peak = rate, .updates = updates, .floor = 1e-5f}};
}

}  // namespace

/// What a model consists of beside its parameters.
struct Pipeline::Parts {
  Multiwords multiwords;
  Vocabulary characters;  ///< of the segmenter
  WordEncoderVocabularies encoder;
  JointParserVocabularies parser;

  explicit Parts(std::span<const ConlluSentence> sentences)
      : multiwords(sentences),
        characters(Segmenter::characters_of(sentences)),
        encoder(WordEncoderVocabularies::of(sentences)),
        parser(JointParserVocabularies::of(sentences)) {}
  explicit Parts(const SavedModel& saved)
      : multiwords(Multiwords::from_text(saved.text("multiwords"), "multiwords")),
        characters(saved.vocabulary("segmenter.characters")) {
    for_vocabularies(encoder, parser, [&](const char* name, Vocabulary& vocabulary) {
      vocabulary = saved.vocabulary(name);
    });
    if (saved.metadata().contains("pretrained"))
      encoder.pretrained = saved.vocabulary("pretrained");
  }
};

Pipeline::Pipeline(ParameterCollection parameters, Parts parts, const PipelineOptions& options,
                   const Context& context)
    : parameters_(std::move(parameters)),
      segmentation_(parameters_.add_subcollection("segmentation")),
      annotation_(parameters_.add_subcollection("annotation")),
      options_(options),
      multiwords_(std::move(parts.multiwords)),
      segmenter_(segmentation_, std::move(parts.characters), options.segmenter),
      encoder_(annotation_, std::move(parts.encoder), options.encoder, context(annotation_)),
      parser_(annotation_,
              {encoder_.size(),
               [this](ComputationGraph& graph, std::span<const std::string> words) {
                 return encoder_(graph, words);
               }},
              std::move(parts.parser), options.parser) {}

namespace {

/// The same options with what follows from the treebank, and from the file of vectors, if there is
/// one.
PipelineOptions with_data(PipelineOptions options, std::span<const ConlluSentence> sentences) {
  options.segmenter.spaces = Segmenter::has_spaces_in_tokens(sentences);
  if (options.vectors.empty()) return options;
  WordVectorReader reader(options.vectors);
  reader.next();
  options.encoder.pretrained = static_cast<unsigned>(reader.size());
  return options;
}

}  // namespace

Pipeline::Pipeline(std::span<const ConlluSentence> sentences, const PipelineOptions& options)
    : Pipeline(
          ParameterCollection(options.seed),
          [&] {
            Parts parts(sentences);
            if (options.vectors.empty()) return parts;
            Vocabulary& known = parts.encoder.pretrained = Vocabulary({.lower_case = true});
            known.set_unknown("<unknown>");
            add_words_with_vectors(options.vectors, known, options.most_vectors);
            return parts;
          }(),
          with_data(options, sentences),
          [&](ParameterCollection& model) -> std::optional<TextEncoder> {
            if (options.pretrained_encoder.empty()) return {};
            return TextEncoder::load(model, options.pretrained_encoder);
          }) {
  if (options.vectors.empty()) return;
  read_word_vectors(options.vectors, encoder_.vocabularies().pretrained,
                    encoder_.pretrained()->table());
}

Pipeline::Pipeline(const SavedModel& saved)
    : Pipeline(to_load(), Parts(checked(saved)), options_of(checked(saved)),
               [&](ParameterCollection& model) -> std::optional<TextEncoder> {
                 if (!TextEncoder::is_in(saved.metadata())) return {};
                 return TextEncoder(model, saved.metadata());
               }) {
  saved.load(parameters_);
}

void Pipeline::save(const std::string& path) const {
  Metadata texts = {{kKind, kKindValue},
                    {"multiwords", multiwords_.to_text()},
                    {"segmenter.characters", segmenter_.characters().to_text()}};
  for_sizes(options_, [&](const char* name, unsigned size) { texts[name] = std::to_string(size); });
  for_vocabularies(
      encoder_.vocabularies(), parser_.vocabularies(),
      [&](const char* name, const Vocabulary& vocabulary) { texts[name] = vocabulary.to_text(); });
  const Vocabulary& pretrained = encoder_.vocabularies().pretrained;
  if (pretrained.size() > 0) texts["pretrained"] = pretrained.to_text();
  if (encoder_.context()) texts.merge(encoder_.context()->texts());
  save_parameters(path, parameters_, texts);
}

TrainingProgress Pipeline::train_segmenter(std::span<const ConlluSentence> train,
                                           std::span<const ConlluSentence> dev,
                                           TrainingOptions options) {
  const std::vector<TextWindow> windows = segmenter_.windows_of(train);
  AdamTrainer trainer(segmentation_);
  prepare(options, windows.size(), 0.003f);
  for (const TextWindow& window : windows) {
    options.sizes.push_back(static_cast<std::uint32_t>(window.characters.size()));
  }
  options.report.score_name = "F1 of tokens, words and sentences";
  options.stopping.dev_score = [&] {
    return segmentation_scores(dev, run_by_predict(options.graph.threads)).mean();
  };
  const auto loss = [&](ComputationGraph& graph, const TextWindow& window) {
    return segmenter_.loss(graph, window);
  };
  return nn::train(trainer, windows, loss, options);
}

TrainingProgress Pipeline::train_parser(std::span<const ConlluSentence> train,
                                        std::span<const ConlluSentence> dev,
                                        TrainingOptions options) {
  AdamTrainer trainer(annotation_, 0.001f, 0.9f, 0.99f);
  trainer.enable_clipping(75);
  prepare(options, train.size(), 0.002f);
  if (encoder_.context()) {
    options.schedule.groups = {{1, encoder_.context()->encoder().groups(options_.tuning)}};
  }
  options.sizes = sizes_of(train);
  options.report.score_name = "LAS";
  options.stopping.dev_score = [&] {
    std::vector<ConlluSentence> found(dev.begin(), dev.end());
    annotate(found, run_by_predict(options.graph.threads));
    return AttachmentScores(dev, found).labelled();
  };
  const auto loss = [&](ComputationGraph& graph, const ConlluSentence& sentence) {
    return parser_.loss(graph, sentence);
  };
  return nn::train(trainer, train, loss, options);
}

SegmentationScores Pipeline::segmentation_scores(std::span<const ConlluSentence> gold,
                                                 const RunSamples& run) const {
  std::istringstream text(text_of(gold));
  TextReader reader(segmenter_, multiwords_, text);
  std::vector<ConlluSentence> found;
  for (auto some = reader.next(run); !some.empty(); some = reader.next(run)) {
    std::ranges::move(some, std::back_inserter(found));
  }
  return nn::segmentation_scores(gold, found);
}

void Pipeline::annotate(std::istream& text, const RunSamples& run,
                        const std::function<void(std::span<const ConlluSentence>)>& use,
                        const DocumentOptions& options) const {
  TextReader reader(segmenter_, multiwords_, text, options);
  std::vector<ConlluSentence> waiting;
  std::size_t words = 0;
  const auto finish = [&] {
    annotate(std::span(waiting), run);
    use(waiting);
    waiting.clear();
    words = 0;
  };
  for (auto some = reader.next(run); !some.empty(); some = reader.next(run)) {
    for (ConlluSentence& sentence : some) {
      words += sentence.words.size();
      waiting.push_back(std::move(sentence));
      if (words >= kWordsTogether) finish();
    }
  }
  if (!waiting.empty()) finish();
}

RunSamples run_by_predict(unsigned threads) {
  return [threads](std::span<const std::uint32_t> sizes, const auto& f) {
    const auto run_one = [&](ComputationGraph& graph, std::size_t i) { f(graph, {&i, 1}); };
    predict_samples(sizes.size(), {.run = run_one},
                    {.sizes = sizes, .graph = {.threads = threads}});
  };
}

RunSamples run_in(ComputationGraph& graph) {
  return [&graph](std::span<const std::uint32_t> sizes, const auto& f) {
    // Some at a time, and what they have recorded is forgotten before the next ones.
    for (std::size_t next = 0; next < sizes.size();) {
      std::vector<std::size_t> some;
      for (std::size_t sum = 0; next < sizes.size() && sum < kSizesTogether; ++next) {
        some.push_back(next);
        sum += sizes[next];
      }
      graph.checkpoint();
      try {
        f(graph, some);
      } catch (...) {
        graph.revert();
        throw;
      }
      graph.revert();
    }
  };
}

}  // namespace dynet_like::nn
