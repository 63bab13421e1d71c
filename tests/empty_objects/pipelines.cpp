// Raw text to CoNLL-U.
#include "dynet_like/dynet_like.h"
#include "nn/pipeline/pipeline.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

nn::Vocabulary some_words() {
  nn::Vocabulary words;
  words.set_unknown("<unknown>");
  return words;
}

void use_models(Types& types, ParameterCollection& model, ComputationGraph& graph) {
  const std::vector<std::string> words = {"a"};
  types.use("Segmenter", nn::Segmenter(model, some_words()), [&](const nn::Segmenter& segmenter) {
    ATTEMPT(segmenter.scores(graph, {}));
    ATTEMPT(segmenter.id({}));
    ATTEMPT(segmenter.windows_of({}));
    ATTEMPT(segmenter.characters().size());
  });
  types.use("WordEncoder", nn::WordEncoder(model, {some_words(), some_words()}, {}),
            [&](const nn::WordEncoder& encoder) {
              ATTEMPT(encoder(graph, {}));
              ATTEMPT(encoder(graph, words));
              ATTEMPT(encoder.size() + encoder.vocabularies().words.size());
              ATTEMPT(encoder.pretrained().has_value());
            });
  const nn::Vocabulary some = some_words();
  const nn::SentenceEncoder encoder = {
      8, [](ComputationGraph& graph, std::span<const std::string> words) {
        return zeros(graph, {8, static_cast<unsigned>(words.size())});
      }};
  types.use("JointParser", nn::JointParser(model, encoder, {some, some, some, some, some}),
            [&](const nn::JointParser& parser) {
              nn::ConlluSentence empty;
              ATTEMPT(parser.loss(graph, empty));
              ATTEMPT(parser.annotate({&empty, 1}, nn::run_in(graph)));
              ATTEMPT(parser.vocabularies().upos.size());
            });
}

}  // namespace

void use_pipelines(Types& types) {
  types.stay<nn::Pipeline, nn::RawUnits, nn::TextReader>();
  ParameterCollection model;
  ComputationGraph graph;
  use_models(types, model, graph);
  types.use("Multiwords", nn::Multiwords(), [](const nn::Multiwords& table) {
    ATTEMPT(table.split("a"));
    ATTEMPT(table.split(""));
    ATTEMPT(table.to_text());
  });
  types.use("TextWindows", nn::TextWindows(), [](nn::TextWindows& windows) {
    ATTEMPT(windows.take());
    ATTEMPT(windows.end_paragraph());
    ATTEMPT(windows.size());
  });
  types.use("RawUnit", nn::RawUnit(),
            [](const nn::RawUnit& unit) { ATTEMPT(unit.has_blank_line()); });
  types.use("WordEncoderVocabularies", nn::WordEncoderVocabularies(),
            [](const nn::WordEncoderVocabularies& all) { ATTEMPT(all.of({})); });
  types.use("JointParserVocabularies", nn::JointParserVocabularies(),
            [](const nn::JointParserVocabularies& all) { ATTEMPT(all.of({})); });
  types.use("SegmentationScores", nn::SegmentationScores(),
            [](const nn::SegmentationScores& scores) { ATTEMPT(scores.mean()); });
}

}  // namespace dynet_like
