// A small pipeline: what it learns in seconds, its file, and how it is applied.
#include "nn/pipeline/pipeline.h"

#include "nn/evaluate/metrics.h"
#include "tests/pipeline/support.h"
#include "tests/support/folder_test.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like::nn {
namespace {

/// Sentences of a toy language, with a multi-word token and punctuation without spaces.
std::vector<ConlluSentence> treebank(std::uint64_t seed, int count) {
  Random random(seed);
  const auto word = [](std::string form, std::string lemma, std::string upos, int head,
                       std::string deprel) {
    ConlluColumns columns = unknown_columns(std::move(form));
    columns.lemma = std::move(lemma);
    columns.upos = columns.xpos = std::move(upos);
    columns.feats = columns.upos == "VERB" ? "VerbForm=Fin" : "_";
    columns.head = head;
    columns.deprel = std::move(deprel);
    return columns;
  };
  const std::vector<std::string> nouns = {"dog", "cat", "king", "baker"},
                                 verbs = {"run", "sing", "walk"};
  std::vector<ConlluSentence> sentences;
  for (int i = 0; i < count; ++i) {
    const std::string noun = nouns[random.below(4)], verb = verbs[random.below(3)];
    ConlluSentence& s = sentences.emplace_back();
    s.words = {word(noun + "s", noun, "NOUN", 4, "nsubj"), word("do", "do", "AUX", 4, "aux"),
               word("n't", "not", "PART", 4, "advmod"), word(verb, verb, "VERB", 0, "root"),
               word(".", ".", "PUNCT", 4, "punct")};
    s.multiwords.push_back({2, 3, unknown_columns("don't")});
    s.words[3].misc = "SpaceAfter=No";
    if (random.below(4) == 0) s.comments.push_back("# newpar");
  }
  return sentences;
}

PipelineOptions small() {
  PipelineOptions options;
  options.segmenter = {.embedding = 16, .hidden = 16, .layers = 1};
  options.encoder = {.word = 16, .character = 8, .spelling = 16, .hidden = 24, .layers = 1};
  options.parser = {.tags = 24, .arcs = 24, .labels = 16};
  return options;
}

struct PipelineTest : FolderTest {
  static void train(Pipeline& pipeline, unsigned epochs = 12) {
    TrainingOptions options = {.epochs = 3 * epochs, .batch_size = 4, .report = {.lines = nullptr}};
    options.stopping.watch_interrupts = false;
    options.graph.threads = 1;
    pipeline.train_segmenter(treebank(1, 300), treebank(2, 20), options);
    options.epochs = epochs;
    options.batch_size = 8;
    pipeline.train_parser(treebank(1, 300), treebank(2, 20), options);
  }
  static std::string annotated(const Pipeline& pipeline, const std::string& text,
                               const RunSamples& run = run_by_predict(1)) {
    std::istringstream stream(text);
    std::string conllu;
    pipeline.annotate(stream, run, [&](auto sentences) { conllu += to_conllu(sentences); });
    return conllu;
  }
};

TEST_F(PipelineTest, LearnsAToyLanguageAndIsAFile) {
  Pipeline pipeline(treebank(1, 300), small());
  train(pipeline);
  const std::vector<ConlluSentence> gold = treebank(3, 50);
  EXPECT_FALSE(pipeline.segmenter().spaces());
  EXPECT_GE(pipeline.segmentation_scores(gold, run_by_predict(1)).mean(), 0.99);
  const std::string text = text_of(gold), conllu = annotated(pipeline, text);
  const std::vector<ConlluSentence> found = read_conllu(TextSource::of(conllu, "output"));
  EXPECT_EQ(text_of(found), text);
  ASSERT_EQ(found.size(), gold.size());
  EXPECT_EQ(found[0].multiwords.size(), 1u);
  EXPECT_GE(AttachmentScores(gold, found).labelled(), 0.95);
  for (std::size_t i = 0; i < gold.size(); ++i) {
    EXPECT_EQ(found[i].column(&ConlluColumns::lemma), gold[i].column(&ConlluColumns::lemma));
    EXPECT_EQ(found[i].column(&ConlluColumns::feats), gold[i].column(&ConlluColumns::feats));
  }

  const std::string file = path("model.safetensors");
  pipeline.save(file);
  const Pipeline loaded{SavedModel(file)};
  EXPECT_EQ(annotated(loaded, text, run_by_predict(2)), conllu);
  Minibatch batch(GraphOptions{.inference = true});
  ComputationGraph& graph = batch.new_graph();
  EXPECT_EQ(annotated(loaded, text, run_in(graph)), conllu);
  EXPECT_EQ(graph.size(), 0u);
  const auto peak_of = [&](unsigned copies) {
    std::string many;
    for (unsigned i = 0; i < copies; ++i) many += text + "\n\n";
    Minibatch one(GraphOptions{.inference = true});
    annotated(loaded, many, run_in(one.new_graph()));
    return static_cast<double>(one.explain().peak_bytes);
  };
  EXPECT_LT(peak_of(40), 1.1 * peak_of(20)) << "a long text needs the memory of a short one";
  Random random(4);
  for (const std::string& hostile : {random_text(random, 2000), std::string(3000, 'x')}) {
    std::istringstream output(annotated(loaded, hostile + "x"));
    EXPECT_EQ(text_of(read_conllu({output, "output"})), hostile + "x");
  }
  EXPECT_EQ(annotated(loaded, ""), "");
}

/// Sentences whose second word has a space, a paragraph each.
std::vector<ConlluSentence> towns(std::uint64_t seed, int count) {
  Random random(seed);
  const std::vector<std::string> people = {"anh", "em", "tôi"},
                                 names = {"hà nội", "sài gòn", "nha trang"};
  std::vector<ConlluSentence> sentences(static_cast<std::size_t>(count));
  for (ConlluSentence& s : sentences) {
    for (const std::string& form :
         {people[random.below(3)], names[random.below(3)], std::string(".")}) {
      ConlluColumns& word = s.words.emplace_back(unknown_columns(form));
      word.head = s.words.size() == 1 ? 0 : 1;
      word.deprel = word.head == 0 ? "root" : "dep";
    }
    s.words[1].misc = "SpaceAfter=No";
    s.comments = {"# newpar"};
  }
  return sentences;
}

TEST_F(PipelineTest, LearnsWordsWithSpaces) {
  const std::vector<ConlluSentence> gold = towns(2, 40);
  Pipeline pipeline(towns(1, 300), small());
  EXPECT_TRUE(pipeline.segmenter().spaces());
  TrainingOptions options = {.epochs = 12, .batch_size = 4, .report = {.lines = nullptr}};
  options.stopping.watch_interrupts = false;
  options.graph.threads = 1;
  const TrainingProgress progress = pipeline.train_segmenter(towns(1, 300), gold, options);
  const SegmentationScores scores = pipeline.segmentation_scores(gold, run_by_predict(1));
  EXPECT_EQ(progress.best_score, scores.mean());
  EXPECT_EQ(scores.tokens.f1(), 1);
  EXPECT_EQ(scores.sentences.f1(), 1);

  pipeline.save(path("model.safetensors"));
  const Pipeline loaded{SavedModel(path("model.safetensors"))};
  for (const std::string end : {"", "\n", " ", "\n\n"}) {
    const std::string text = "tôi hà\u00A0nội." + end;
    const std::vector<ConlluSentence> found =
        read_conllu(TextSource::of(annotated(loaded, text), "output"));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].column(&ConlluColumns::form),
              (std::vector<std::string>{"tôi", "hà nội", "."}));
    EXPECT_EQ(found[0].words[1].misc, "SpaceAfter=No|SpacesInToken=hà\\u00A0nội");
    EXPECT_EQ(found[0].comment("text"), "tôi hà nội.");
    EXPECT_EQ(text_of(found), text);
  }
}

TEST_F(PipelineTest, TheSameSeedGivesTheSameModel) {
  std::string files[2];
  for (std::string& file : files) {
    Pipeline pipeline(treebank(1, 50), small());
    train(pipeline, 1);
    pipeline.save(path("model.safetensors"));
    file = contents("model.safetensors");
  }
  EXPECT_TRUE(files[0] == files[1]);
}

TEST_F(PipelineTest, UsesPretrainedVectors) {
  PipelineOptions options = small();
  options.vectors = write("dogs 1 2 3\nunicorns 4 5 6\n", "some.vec");
  Pipeline pipeline(treebank(1, 50), options);
  train(pipeline, 1);
  const LookupParameter table(pipeline.parameters().find("/annotation/word_encoder/pretrained/E"));
  ASSERT_EQ(table.rows(), 3u);  // an unknown word, and two of the file
  EXPECT_EQ(as_vector(table.values(0)), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(as_vector(table.values(1)), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(as_vector(table.values(2)), (std::vector<float>{4, 5, 6}));
  pipeline.save(path("model.safetensors"));
  const Pipeline loaded{SavedModel(path("model.safetensors"))};
  const std::string text = "unicorns don't run. dogs don't sing.";
  EXPECT_EQ(annotated(loaded, text), annotated(pipeline, text));
}

TEST_F(PipelineTest, RefusesOtherFiles) {
  const std::string file = path("model.safetensors");
  EXPECT_THROW(Pipeline{SavedModel(file)}, FileError);
  ParameterCollection other;
  other.add_parameters({2}, "W");
  save_parameters(file, other);
  EXPECT_THROW(Pipeline{SavedModel(file)}, FileError);
  save_parameters(file, other, {{"pipeline.kind", "another"}});
  EXPECT_THROW(Pipeline{SavedModel(file)}, UsageError);
}

TEST(TreebankTextTest, EveryByteOfARealTreebank) {
  const char* const data = std::getenv("DYNET_LIKE_DATA");
  const std::string file =
      std::string(data != nullptr ? data : "") + "/ud_english_ewt/en_ewt-ud-test.conllu";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "needs " << file;
  std::vector<ConlluSentence> gold = read_conllu(file);
  if (kSlowBuild) gold.resize(200);
  const Pipeline pipeline(gold, small());
  const std::string text = text_of(gold);
  std::istringstream stream(text);
  std::vector<ConlluSentence> found;
  pipeline.annotate(stream, run_by_predict(2), [&](std::span<const ConlluSentence> some) {
    found.insert(found.end(), some.begin(), some.end());
  });
  EXPECT_TRUE(text_of(found) == text);
  for (const ConlluSentence& sentence : gold) {
    const std::string own = text_of(std::span(&sentence, 1));
    EXPECT_EQ(own.substr(0, own.find_last_not_of(' ') + 1), sentence.comment("text").value_or(""));
  }
}

}  // namespace
}  // namespace dynet_like::nn
