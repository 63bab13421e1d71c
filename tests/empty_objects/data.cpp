// Files in memory, readers of data and what they give, and what turns raw text into CoNLL-U.
#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"
#include "nn/data.h"
#include "nn/pipeline/pipeline.h"
#include "nn/structures.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

void use_tree(nn::Tree& tree) {
  ATTEMPT(tree.root(), tree.label(0), tree.is_leaf(0), tree.word(0), tree.children(0), tree.left(0),
          tree.right(0), tree.left(tree.root()), tree.word(tree.root()), tree.set_label(0, 1),
          tree.add_parent(0, 1), tree.heights(), tree.depth(), nn::structure_of(tree),
          nn::structure_of(tree, nn::TreeColumns::nodes).size());
  ATTEMPT(nn::to_string(tree), nn::listops_string(tree), nn::listops_values(tree),
          nn::evaluate_listops(tree), nn::count_operators(tree), nn::listops_depth(tree));
  EXPECT_EQ(tree.nodes().size(), tree.size());
  ATTEMPT(tree.reserve(2, 1), tree.add_leaf(1, "a"));
  EXPECT_EQ(tree.word(tree.root()), "a");
}

void use_vocabulary(nn::Vocabulary& words) {
  ATTEMPT(words.normalisation(), words.id("a"), words.find("a"), words.word(0), words.words({}),
          words.count(0), words.unknown(), words.word(words.unknown().value_or(0)),
          words.trimmed(1), words.to_text(), words.save(::testing::TempDir() + "/vocabulary"),
          words.id("no such word"), words.set_unknown("?"), words.add("b"), words.freeze());
}

void use_sentence(nn::ConlluSentence& sentence) {
  const std::size_t n = sentence.words.size();
  ATTEMPT(sentence.heads(), sentence.column(&nn::ConlluColumns::form), sentence.comment("text"),
          sentence.set_heads(std::vector<std::uint32_t>(n)),
          sentence.set_column(&nn::ConlluColumns::form, std::vector<std::string>(n, "a")),
          nn::to_conllu(std::span(&sentence, 1)));
}

void use_tokenizer(const nn::Tokenizer& tokenizer) {
  const std::vector<std::string> words = {"a"};
  ATTEMPT(tokenizer.encode("a"), tokenizer.encode("a", "b"), tokenizer.encode(words),
          tokenizer.encode(words, words), tokenizer.size(), tokenizer.piece(0),
          tokenizer.find("a"));
}

void use_column(const nn::Column& column) {
  ATTEMPT(column.number(), column.name());
  std::istringstream text("label\ttext\n1\ta\n");
  try {
    nn::read_tab_separated({text, "text"}, {column});
  } catch (const FileError&) {
  }
}

void use_entries(const TensorEntries& file) {
  ParameterCollection model;
  for (const TensorEntry& entry : file.entries()) EXPECT_EQ(file.find(entry.name), &entry);
  EXPECT_EQ(file.find("W") != nullptr, !file.entries().empty());
  file.name();
  try {
    load_parameter(file, "W", model.add_parameters({2}));
  } catch (const FileError&) {
  }
}

void use_files(Types& types) {
  const std::vector<float> numbers = {1, 2};
  const TensorEntry entry{"W", "F32", {2}, std::as_bytes(std::span(numbers))};
  const std::string path = ::testing::TempDir() + "/file";
  write_safetensors(path, std::span(&entry, 1), {{"key", "value"}});
  types.use(SafetensorsFile::read(path), [](const SafetensorsFile& file) {
    use_entries(file);
    EXPECT_LE(file.metadata().size(), 1u);
    ParameterCollection model;
    ATTEMPT(load_parameters(file, model, ExtraTensors::ignore));
  });
  write_npz(path, std::span(&entry, 1));
  types.use(NumpyFile::read(path), [](const NumpyFile& file) {
    use_entries(file);
    EXPECT_THROW(file.texts("W"), FileError);
  });
  types.use(TensorEntries(NumpyFile::read(path)), use_entries);
  types.use(LoadReport(), [](const LoadReport& report) {
    EXPECT_TRUE(report.is_complete());
    EXPECT_EQ(report.text(), "loaded 0 parameters\n");
  });
}

}  // namespace

void use_data(Types& types) {
  types.stay<nn::Prefetcher<int>, nn::WordVectorReader, nn::WordVectorWriter>();
  use_files(types);
  nn::Tree tree;
  tree.add_leaf(1, "a");
  tree.add_leaf(1, "b");
  tree.add_parent(2, 2);
  types.use(tree, use_tree);
  nn::Vocabulary words;
  words.add("a");
  words.set_unknown("?");
  types.use(words, use_vocabulary);
  const std::vector<std::string> source = {"a", "new"};
  types.use(nn::SourceVocabulary(words, source), [](const auto& each) {
    ATTEMPT(each.source(), each.id("new"), each.id("nowhere"), each.row(1000), each.word(1000));
  });
  nn::ConlluSentence sentence;
  sentence.words.resize(2);
  types.use(sentence, use_sentence);
  types.use(nn::Tokenizer::from_text(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]}})"),
            use_tokenizer);
  types.use(nn::Column("label"), use_column);
  types.use(nn::Column(1), use_column);
  const auto text = nn::TextSource::of("a\nb\n", "text");
  types.use(text, [](nn::TextSource& from) { ATTEMPT(from.open({})); });
  types.use(nn::LineReader(text, {}), [](nn::LineReader& reader) {
    ATTEMPT(reader.next(), reader.next_filled(), reader.number());
  });
  types.use(nn::BracketTokens("(a)"), [](nn::BracketTokens& tokens) {
    ATTEMPT(tokens.at_bracket_or_end(), tokens.next(), tokens.column());
  });
}

void use_pipelines(Types& types) {
  types.stay<nn::Pipeline, nn::RawUnits, nn::TextReader>();
  ParameterCollection model;
  ComputationGraph graph;
  nn::Vocabulary some;
  some.set_unknown("<unknown>");
  types.use(nn::Segmenter(model, some), [&](const nn::Segmenter& segmenter) {
    ATTEMPT(segmenter.scores(graph, {}), segmenter.id({}), segmenter.windows_of({}),
            segmenter.characters().size());
  });
  const std::vector<std::string> words = {"a"};
  types.use(nn::WordEncoder(model, {some, some}, {}), [&](const nn::WordEncoder& encoder) {
    ATTEMPT(encoder(graph, {}), encoder(graph, words),
            encoder.size() + encoder.vocabularies().words.size(), encoder.pretrained());
  });
  const nn::SentenceEncoder encoder = {8,
                                       [](ComputationGraph& to, std::span<const std::string> of) {
                                         return zeros(to, {8, static_cast<unsigned>(of.size())});
                                       }};
  types.use(nn::JointParser(model, encoder, {some, some, some, some, some}),
            [&](const nn::JointParser& parser) {
              nn::ConlluSentence empty;
              ATTEMPT(parser.loss(graph, empty), parser.annotate({&empty, 1}, nn::run_in(graph)),
                      parser.vocabularies().upos.size());
            });
  types.use(nn::Multiwords(), [](const nn::Multiwords& table) {
    ATTEMPT(table.split("a"), table.split(""), table.to_text());
  });
  types.use(nn::TextWindows(), [](nn::TextWindows& windows) {
    ATTEMPT(windows.take(), windows.end_paragraph(), windows.size());
  });
}

}  // namespace dynet_like
