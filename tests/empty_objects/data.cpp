// Readers of data, and what they give.
#include <sstream>

#include "dynet_like/dynet_like.h"
#include "nn/data.h"
#include "nn/structures.h"
#include "nn/text/tokenizer.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

void use_tree(nn::Tree& tree) {
  ATTEMPT(tree.root());
  ATTEMPT(tree.label(0));
  ATTEMPT(tree.is_leaf(0));
  ATTEMPT(tree.word(0));
  ATTEMPT(tree.children(0));
  ATTEMPT(tree.left(0));
  ATTEMPT(tree.right(0));
  ATTEMPT(tree.left(tree.root()));
  ATTEMPT(tree.word(tree.root()));
  ATTEMPT(tree.set_label(0, 1));
  ATTEMPT(tree.add_parent(0, 1));
  ATTEMPT(tree.heights());
  ATTEMPT(tree.depth());
  ATTEMPT(nn::structure_of(tree));
  ATTEMPT(nn::structure_of(tree, nn::TreeColumns::nodes).size());
  ATTEMPT(nn::to_string(tree));
  ATTEMPT(nn::listops_string(tree));
  ATTEMPT(nn::listops_values(tree));
  ATTEMPT(nn::evaluate_listops(tree));
  ATTEMPT(nn::count_operators(tree));
  ATTEMPT(nn::listops_depth(tree));
  EXPECT_EQ(tree.nodes().size(), tree.size());
  ATTEMPT(tree.reserve(2, 1));
  ATTEMPT(tree.add_leaf(1, "a"));
  EXPECT_EQ(tree.word(tree.root()), "a");
}

void use_vocabulary(nn::Vocabulary& words) {
  ATTEMPT(words.normalisation());
  ATTEMPT(words.id("a"));
  ATTEMPT(words.find("a"));
  ATTEMPT(words.word(0));
  ATTEMPT(words.words({}));
  ATTEMPT(words.count(0));
  ATTEMPT(words.unknown());
  ATTEMPT(words.word(words.unknown().value_or(0)));
  ATTEMPT(words.trimmed(1));
  ATTEMPT(words.to_text());
  ATTEMPT(words.save(::testing::TempDir() + "/vocabulary"));
  ATTEMPT(words.id("no such word"));
  ATTEMPT(words.set_unknown("?"));
  ATTEMPT(words.add("b"));
  ATTEMPT(words.freeze());
}

void use_sentence(nn::ConlluSentence& sentence) {
  ATTEMPT(sentence.heads());
  ATTEMPT(sentence.column(&nn::ConlluColumns::form));
  ATTEMPT(sentence.comment("text"));
  ATTEMPT(sentence.set_heads(std::vector<std::uint32_t>(sentence.words.size(), 0)));
  ATTEMPT(sentence.set_column(&nn::ConlluColumns::form,
                              std::vector<std::string>(sentence.words.size(), "a")));
  ATTEMPT(nn::to_conllu(std::span(&sentence, 1)));
}

void use_tokenizer(const nn::Tokenizer& tokenizer) {
  const std::vector<std::string> words = {"a"};
  ATTEMPT(tokenizer.encode("a"));
  ATTEMPT(tokenizer.encode("a", "b"));
  ATTEMPT(tokenizer.encode(words));
  ATTEMPT(tokenizer.encode(words, words));
  ATTEMPT(tokenizer.size());
  ATTEMPT(tokenizer.piece(0));
  ATTEMPT(tokenizer.find("a"));
}

void use_samples(Types& types) {
  nn::ConlluSentence sentence;
  sentence.words.resize(2);
  types.use("ConlluSentence", sentence, use_sentence);
  types.use("Tokenizer",
            nn::Tokenizer::from_text(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]}})"),
            use_tokenizer);
  types.use("Column", nn::Column("label"), [](const nn::Column& column) {
    ATTEMPT(column.number());
    if (column.has_name()) ATTEMPT(column.name());
    std::istringstream text("label\ttext\n1\ta\n");
    try {
      nn::read_tab_separated({text, "text"}, {column});
    } catch (const FileError&) {
    }
  });
  types.use("Column", nn::Column(1), [](const nn::Column& column) { ATTEMPT(column.name()); });
}

}  // namespace

void use_data(Types& types) {
  types.stay<nn::Prefetcher<int>, nn::WordVectorReader, nn::WordVectorWriter>();
  nn::Tree tree;
  tree.add_leaf(1, "a");
  tree.add_leaf(1, "b");
  tree.add_parent(2, 2);
  types.use("Tree", tree, use_tree);
  nn::Vocabulary words;
  words.add("a");
  words.set_unknown("?");
  types.use("Vocabulary", words, use_vocabulary);
  const std::vector<std::string> source = {"a", "new"};
  types.use("SourceVocabulary", nn::SourceVocabulary(words, source), [](const auto& each) {
    ATTEMPT(each.source());
    ATTEMPT(each.id("new"));
    ATTEMPT(each.id("nowhere"));
    ATTEMPT(each.row(1000));
    ATTEMPT(each.word(1000));
  });
  types.use("WordNormalisation", nn::WordNormalisation(),
            [](nn::WordNormalisation how) { nn::normalised("A1", how); });
  types.use("Text", nn::Text{words, {0, 0}}, [](const nn::Text& text) {
    ATTEMPT(nn::join_units(text.vocabulary, text.units, nn::TextUnit::word));
  });
  use_samples(types);

  const std::string file = "file";
  types.use("TextLine", nn::TextLine{"a\tb", file, 1}, [](const nn::TextLine& line) {
    ATTEMPT(line.columns());
    ATTEMPT(line.words());
    EXPECT_THROW(line.fail("what"), FileError);
    EXPECT_THROW(line.columns(9), FileError);
  });
  const auto text = nn::TextSource::of("a\nb\n", "text");
  types.use("TextSource", text, [](nn::TextSource& source) { ATTEMPT(source.open({})); });
  types.use("LineReader", nn::LineReader(text, {}), [](nn::LineReader& reader) {
    ATTEMPT(reader.next());
    ATTEMPT(reader.next_filled());
    ATTEMPT(reader.number());
  });
  types.use("BracketTokens", nn::BracketTokens("(a)"), [](nn::BracketTokens& tokens) {
    ATTEMPT(tokens.at_bracket_or_end());
    ATTEMPT(tokens.next());
    ATTEMPT(tokens.column());
  });
}

}  // namespace dynet_like
