// Pipeline: raw text to CoNLL-U, by a model in one file.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <span>
#include <string>
#include <vector>

#include "nn/data/conllu.h"
#include "nn/pipeline/joint_parser.h"
#include "nn/pipeline/multiwords.h"
#include "nn/pipeline/segmentation_scores.h"
#include "nn/pipeline/segmenter.h"
#include "nn/pipeline/text_reader.h"
#include "nn/pipeline/word_encoder.h"
#include "nn/train/saved_model.h"
#include "nn/train/training_options.h"
#include "nn/train/training_progress.h"

namespace dynet_like::nn {

struct PipelineOptions {
  SegmenterOptions segmenter = {};
  WordEncoderOptions encoder = {};
  JointParserOptions parser = {};
  /// A text file of word vectors, and how many of its words are used; empty: none.
  std::string vectors = {};
  std::uint32_t most_vectors = 50'000;
  /// The folder of a pretrained encoder, which is tuned (see TextEncoder); empty: none.
  std::string pretrained_encoder = {};
  /// How it is tuned. The rate is a factor of that of the other parameters, 0.002.
  FineTuning tuning = {.rate = 0.05f};
  std::uint64_t seed = 1;
};

/// A Segmenter, a table of multi-word tokens, and a JointParser on a WordEncoder, which may read a
/// pretrained encoder.
class Pipeline {
 public:
  /// A model for a treebank, before training. Throws FileError for the file of vectors and the
  /// folder of the encoder.
  Pipeline(std::span<const ConlluSentence> sentences, const PipelineOptions& options);
  /// A model that save() has written. Throws FileError for another file.
  explicit Pipeline(const SavedModel& saved);
  Pipeline(const Pipeline&) = delete;

  /// Writes the model, atomically. The name must end in ".safetensors", so that SavedModel finds
  /// it. Throws FileError.
  void save(const std::string& path) const;

  /// Train on a treebank, one after the other or only one of them, and keep the best of all epochs
  /// on the development data. Of the options, `epochs`, `batch_size`, `seed`, `graph`, `lines` and
  /// others are yours; the schedule, sizes, sums and scores are set here. The scores are
  /// SegmentationScores::mean(), and LAS of the right words.
  TrainingProgress train_segmenter(std::span<const ConlluSentence> train,
                                   std::span<const ConlluSentence> dev, TrainingOptions options);
  TrainingProgress train_parser(std::span<const ConlluSentence> train,
                                std::span<const ConlluSentence> dev, TrainingOptions options);

  /// The scores of the sentences, tokens and words that are found in the text of a treebank.
  SegmentationScores segmentation_scores(std::span<const ConlluSentence> gold,
                                         const RunSamples& run) const;

  /// Calls use(sentences) for all sentences of a text, in order, some at a time. Memory does not
  /// grow with the text; see TextReader.
  void annotate(std::istream& text, const RunSamples& run,
                const std::function<void(std::span<const ConlluSentence>)>& use,
                const DocumentOptions& options = {}) const;
  /// Annotates sentences whose words are known.
  void annotate(std::span<ConlluSentence> sentences, const RunSamples& run) const {
    parser_.annotate(sentences, run);
  }

  const Segmenter& segmenter() const { return segmenter_; }
  const JointParser& parser() const { return parser_; }
  const ParameterCollection& parameters() const { return parameters_; }

 private:
  struct Parts;
  using Context = std::function<std::optional<TextEncoder>(ParameterCollection& model)>;
  Pipeline(ParameterCollection parameters, Parts parts, const PipelineOptions& options,
           const Context& context);

  ParameterCollection parameters_, segmentation_, annotation_;
  PipelineOptions options_;
  Multiwords multiwords_;
  Segmenter segmenter_;
  WordEncoder encoder_;
  JointParser parser_;
};

/// Runs samples by predict, in minibatches of similar sizes.
RunSamples run_by_predict(unsigned threads);
/// Runs all samples in one graph, such as that of a server's request.
RunSamples run_in(ComputationGraph& graph);

}  // namespace dynet_like::nn
