// Tokenizers of folders: settings beside tokenizer.json, and files from before it.
#include "nn/encoders/tokenizer_folder.h"

#include "tests/encoders/small_encoders.h"
#include "tests/encoders/torch_test.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/table.h"
#include "tests/text/tokenizer_json.h"

namespace dynet_like::nn {
namespace {

std::string special(const std::string& content, unsigned id) {
  return R"({"id":)" + std::to_string(id) + R"(,"content":")" + content +
         R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
}

// BERT's, with 12 pieces.
std::string bert_json(bool lowercase) {
  TokenizerJson json;
  json.normalizer = R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,
      "strip_accents":null,"lowercase":)" +
                    std::string(lowercase ? "true}" : "false}");
  json.pre_tokenizer = R"({"type":"BertPreTokenizer"})";
  json.post_processor = R"({"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]})";
  json.added_tokens = '[' + special("[PAD]", 0) + ',' + special("[UNK]", 1) + ',' +
                      special("[CLS]", 2) + ',' + special("[SEP]", 3) + ',' + special("[MASK]", 4) +
                      ']';
  json.model = R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
      "max_input_chars_per_word":100,"vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"[MASK]":4,
      "a":5,"cat":6,"##s":7,"A":8,"Cat":9,"á":10,"a中":11}})";
  return json.text();
}

// RoBERTa's: "a", "b", "Ġ", "Ġa", "Ġb".
std::string roberta_json(bool add_prefix_space) {
  const std::string adds = add_prefix_space ? "true" : "false";
  TokenizerJson json;
  json.pre_tokenizer =
      R"({"type":"ByteLevel","trim_offsets":true,"add_prefix_space":)" + adds + '}';
  json.post_processor = R"({"type":"RobertaProcessing","sep":["</s>",1],"cls":["<s>",0],
      "trim_offsets":true,"add_prefix_space":)" +
                        adds + '}';
  json.added_tokens = '[' + special("<s>", 0) + ',' + special("</s>", 1) + ']';
  json.model = R"({"type":"BPE","dropout":null,"unk_token":null,"vocab":{"<s>":0,"</s>":1,"a":2,
      "b":3,"Ġ":4,"Ġa":5,"Ġb":6},"merges":["Ġ a","Ġ b"]})";
  return json.text();
}

// DeBERTa's: "▁a", "▁A", "▁", "a", "A", "!".
std::string unigram_json() {
  TokenizerJson json;
  json.pre_tokenizer = R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always"})";
  json.post_processor = R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]",
      "type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"[CLS]":
      {"id":"[CLS]","ids":[1],"tokens":["[CLS]"]}}})";
  json.added_tokens = '[' + special("[CLS]", 1) + ']';
  json.model = R"({"type":"Unigram","unk_id":0,"vocab":[["[UNK]",0],["[CLS]",0],["▁a",-1],["▁A",-1],
      ["▁",-2],["a",-2],["A",-2],["!",-2],["▁!",-2.5],["!a",-3]]})";
  return json.text();
}

// A line of kCases: the test's name, the model_type, a text, its ids, and the files of the folder.
struct Case {
  std::string name, model_type, text;
  std::vector<std::uint32_t> ids;
  std::map<std::string, std::string> files;
};

// Expected: AutoTokenizer of transformers 5.24, where no comment says otherwise. Without settings
// the file says all; AutoTokenizer would take the class's defaults for NoSettingsCased. "bert" and
// so on behind tokenizer.json and the files of pieces stand for the texts of `contents_of`.
constexpr char kCases[] = R"(
NoSettings | bert | A Cat | 2 5 6 3 | tokenizer.json=bert lower
NoSettingsCased | bert | A Cat | 2 8 9 3 | tokenizer.json=bert
Cased | bert | A Cat | 2 8 9 3 | tokenizer.json=bert lower | config={"do_lower_case":false}
CasedDistil | distilbert | A Cat | 2 8 9 3 | tokenizer.json=bert lower
    | config={"do_lower_case":false,"tokenizer_class":"DistilBertTokenizer"}
CasedElectra | electra | A Cat | 2 8 9 3 | tokenizer.json=bert lower
    | config={"do_lower_case":false,"tokenizer_class":"ElectraTokenizerFast"}
LowerCase | bert | A Cat | 2 5 6 3 | tokenizer.json=bert | config={"do_lower_case":true}
DefaultOfTheClass | bert | A Cat | 2 5 6 3 | tokenizer.json=bert | config={}
ClassOfTheConfig | modernbert | A Cat | 2 5 6 3 | tokenizer.json=bert lower
    | config={"do_lower_case":false}
ClassWithoutSettings | bert | A Cat | 2 5 6 3 | tokenizer.json=bert lower
    | config={"do_lower_case":false,"tokenizer_class":"PreTrainedTokenizerFast"}
Accents | bert | á | 2 5 3 | tokenizer.json=bert lower | config={}
AccentsStay | bert | á | 2 10 3 | tokenizer.json=bert lower | config={"strip_accents":false}
Ideographs | bert | a中 | 2 5 1 3 | tokenizer.json=bert lower | config={}
IdeographsStay | bert | a中 | 2 11 3 | tokenizer.json=bert lower
    | config={"tokenize_chinese_chars":false}
AddedTokens | bert | cat<NEW> | 2 6 12 3 | tokenizer.json=bert lower | added={"<new>":12}
AddedTokensOfTheConfig | bert | cat<new> | 2 6 12 3 | tokenizer.json=bert lower
    | config={"added_tokens_decoder":{"12":{"content":"<new>","special":true}}}
AddedTokensAreNotNormalised | bert | cat<NEW> | 2 6 1 1 1 3 | tokenizer.json=bert lower
    | config={"added_tokens_decoder":{"12":{"content":"<new>","special":true}}}
AddedTokensWithOptions | bert | a <new>a | 2 5 1 1 1 5 3 | tokenizer.json=bert lower
    | config={"added_tokens_decoder":{"12":{"content":"<new>","single_word":true,"special":true}}}
OptionsOfKnownTokens | bert | a[SEP]a | 2 5 1 1 1 5 3 | tokenizer.json=bert lower
    | config={"added_tokens_decoder":{"3":{"content":"[SEP]","single_word":true,
   "normalized":false,"special":true}}}
AdditionalTokens | bert | cat<new> | 2 6 12 3 | tokenizer.json=bert lower
    | config={"additional_special_tokens":["<new>"]}
AdditionalTokensOfTheMap | bert | cat<new> | 2 6 12 3 | tokenizer.json=bert lower
    | map={"additional_special_tokens":["<new>"]}
AListMakesTheMapVoid | bert | cat<new> | 2 6 1 1 1 3 | tokenizer.json=bert lower
    | config={"added_tokens_decoder":{}}
    | map={"additional_special_tokens":["<new>"]}
Vocabulary | bert | A Cats [SEP] | 2 5 6 7 3 3 | vocab.txt=bert
VocabularyCased | electra | A Cats | 2 8 9 7 3 | vocab.txt=bert | config={"do_lower_case":false}
VocabularyOfWindows | distilbert | A Cats | 2 5 6 7 3 | vocab.txt=windows | added={"<new>":8}
VocabularyWithAddedTokens | bert | a<new> | 2 5 10 3 | vocab.txt=bert | added={"<new>":10}
Roberta | roberta | a b | 0 2 6 1 | tokenizer.json=roberta
RobertaPrefix | roberta | a b | 0 5 6 1 | tokenizer.json=roberta | config={"add_prefix_space":true}
RobertaNoPrefix | roberta | a b | 0 2 6 1 | tokenizer.json=roberta prefix | config={}
Merges | roberta | a b | 0 2 6 1 | vocab.json=roberta | merges.txt=roberta
MergesWithPrefix | roberta | a b | 0 5 6 1 | vocab.json=roberta
    | merges.txt=windows
    | config={"add_prefix_space":true}
Deberta | deberta-v2 | A! | 1 3 7 | tokenizer.json=unigram | config={"do_lower_case":false}
DebertaLowerCase | deberta-v2 | A! | 1 2 7 | tokenizer.json=unigram | config={"do_lower_case":true}
DebertaPunctuation | deberta-v2 | a!a | 1 2 8 2 | tokenizer.json=unigram
    | config={"split_by_punct":true}
UnigramNoPrefix | xlm-roberta | a A | 1 5 3 | tokenizer.json=unigram
    | config={"add_prefix_space":false}
LowerCaseOfSentences | modernbert | A | 1 2 | tokenizer.json=unigram
    | sentence_bert_config.json={"do_lower_case":true}
)";

std::string contents_of(const std::string& file, const std::string& name) {
  if (file == "vocab.txt") {
    if (name == "short") return "a\n[SEP]\n";
    const std::string end = name == "windows" ? "\r\n" : "\n";
    std::string text;
    for (const char* piece : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "##s"}) {
      text += piece + end;
    }
    return name == "windows" ? text : text + "A\nCat\n";
  }
  if (file == "vocab.json") return R"({"<s>":0,"</s>":1,"a":2,"b":3,"Ġ":4,"Ġa":5,"Ġb":6})";
  if (file == "merges.txt") {
    return name == "windows" ? "Ġ a\r\nĠ b" : "#version: 0.2\nĠ a\nĠ b\n";
  }
  if (file != "tokenizer.json") return name;
  if (name == "unigram") return unigram_json();
  if (name == "plain") return TokenizerJson{.normalizer = R"({"type":"Lowercase"})"}.text();
  if (name == "{}") return name;
  return name.starts_with("bert") ? bert_json(name == "bert lower")
                                  : roberta_json(name == "roberta prefix");
}

/// Of cells "file=contents".
std::map<std::string, std::string> files_of(const std::vector<std::string>& cells) {
  const std::map<std::string, std::string> names = {{"config", "tokenizer_config.json"},
                                                    {"added", "added_tokens.json"},
                                                    {"map", "special_tokens_map.json"}};
  std::map<std::string, std::string> files;
  for (const std::string& cell : cells) {
    const std::size_t sign = cell.find('=');
    const auto known = names.find(cell.substr(0, sign));
    const std::string file = known == names.end() ? cell.substr(0, sign) : known->second;
    files[file] = contents_of(file, cell.substr(sign + 1));
  }
  return files;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& cells : rows_of(kCases)) {
    Case& each = all.emplace_back(
        Case{cells[0], cells[1], cells[2], {}, files_of({cells.begin() + 4, cells.end()})});
    std::istringstream ids(cells[3]);
    for (std::uint32_t id; ids >> id;) each.ids.push_back(id);
  }
  return all;
}

class TokenizerFolderTest : public EncoderFolder {
 protected:
  void write_case(const Case& each) const {
    write_text("config.json", R"({"model_type":")" + each.model_type + "\"}");
    for (const auto& [name, text] : each.files) write_text(name, text);
  }
  std::string message() const {
    return message_of<FileError>([&] { tokenizer_of_folder(path()); });
  }
};

class TokenizerSettingsTest : public TokenizerFolderTest,
                              public ::testing::WithParamInterface<Case> {};

INSTANTIATE_TEST_SUITE_P(Settings, TokenizerSettingsTest, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST_P(TokenizerSettingsTest, AreApplied) {
  write_case(GetParam());
  const Tokenizer tokenizer = Tokenizer::from_text(tokenizer_of_folder(path()));
  EXPECT_EQ(tokenizer.encode(GetParam().text).ids, GetParam().ids);
}

TEST_F(TokenizerFolderTest, SettingsThatAreRefused) {
  const std::string way =
      "[tokenizer_of_folder] need this file, or vocab.txt of a BertTokenizer, or vocab.json and "
      "merges.txt of a RobertaTokenizer; got ";
  const std::string then =
      ": AutoTokenizer.from_pretrained(folder).save_pretrained(folder) makes this file";
  const std::string as_it_is =
      ": PreTrainedTokenizerFast in tokenizer_config.json reads the file as it is";
  // A model_type, files, and the message behind the name of one of them.
  for (const auto& row : rows_of(R"(
bert | config={"tokenizer_class":"BertJapaneseTokenizer"}
    | tokenizer_class: need a class that tokenizer.json can describe; got BertJapaneseTokenizer
bert | tokenizer.json=bert lower | config={"split_special_tokens":true}
    | split_special_tokens: need false: special tokens in a text are found; got true
bert | tokenizer.json=bert lower | config={"cls_token":"[PAD]"}
    | cls_token: need a token of tokenizer.json's post_processor; got "[PAD]"
bert | tokenizer.json=plain | config={"do_lower_case":false}
    | tokenizer_class: need a tokenizer.json with a BertPreTokenizer for BertTokenizer; got none<as it is>
roberta | tokenizer.json=plain | config={"add_prefix_space":true}
    | tokenizer_class: need a tokenizer.json with a ByteLevel for RobertaTokenizer; got none<as it is>
bert | tokenizer.json=bert lower | config={"do_lower_case":"no"}
    | do_lower_case: need true or false; got "no"
bert | tokenizer.json=bert lower | config={"added_tokens_decoder":{"x":{"content":"a"}}}
    | added_tokens_decoder["x"]: need an id as its key; got another kind of value
bert | tokenizer.json=bert lower | added={"<new>":-1} | ["<new>"]: need a whole number from 0; got "-1"
bert | tokenizer.json={} | added={"<new>":1} | need a tokenizer of Hugging Face's form; got an error:
    [json.exception.out_of_range.403] key 'model' not found
bert | vocab.txt=short | need the token "[CLS]", which begins or ends texts; got a vocabulary without it
bert | <way>none of BertTokenizer<then>
roberta | vocab.txt=short | <way>vocab.txt of RobertaTokenizer<then>
xlm-roberta | sentencepiece.bpe.model=x | <way>sentencepiece.bpe.model of XLMRobertaTokenizer<then>
)")) {
    std::string message = row.back();
    for (const auto& [name, text] :
         {std::pair("<way>", way), {"<then>", then}, {"<as it is>", as_it_is}}) {
      const std::size_t at = message.find(name);
      if (at != message.npos) message.replace(at, std::string(name).size(), text);
    }
    std::filesystem::remove_all(path());
    std::filesystem::create_directory(path());
    write_case({"", row[0], "", {}, files_of({row.begin() + 1, row.end() - 1})});
    const std::string got = this->message();
    EXPECT_EQ(got.substr(got.find(": ") + 2), message) << got;
  }
}

// A hostile file, which would take gigabytes as JSON.
TEST_F(TokenizerFolderTest, VocabulariesOfTooManyLines) {
  std::string lines(std::size_t{2} << 22, '\n');
  for (std::size_t i = 0; i < lines.size(); i += 2) lines[i] = 'a';
  for (const char* const family : {"bert", "roberta"}) {
    write_text("config.json", R"({"model_type":")" + std::string(family) + "\"}");
    write_text("vocab.json", R"({"<s>":0,"</s>":1})");
    for (const char* const name : {"vocab.txt", "merges.txt"}) write_text(name, lines + "[CLS]\n");
    EXPECT_TRUE(message().ends_with(".txt: need at most 4194304 lines")) << message();
  }
}

class TokenizerReferenceTest : public TorchTest {};

// Random settings, in folders of both kinds of files.
TEST_F(TokenizerReferenceTest, IdsAreThoseOfTransformers) {
  constexpr unsigned kFolders = 150;
  run_script("tokenizer_reference.py", std::to_string(kFolders));
  std::istringstream expected(contents("expected.txt")), lines(contents("texts.txt"));
  std::vector<std::string> texts;
  for (std::string text; std::getline(lines, text);) texts.push_back(text);
  unsigned refused = 0;
  for (unsigned i = 0; i < kFolders; ++i) {
    std::optional<Tokenizer> tokenizer;
    std::string why;
    try {
      tokenizer = Tokenizer::from_text(tokenizer_of_folder(path(std::to_string(i))));
    } catch (const FileError& error) {
      why = error.what();
      ++refused;
    }
    for (const std::string& text : texts) {
      std::string line, got;
      std::getline(expected, line);
      EXPECT_NE(line, "error");
      if (!tokenizer) continue;
      for (const std::uint32_t id : tokenizer->encode(text).ids) got += std::to_string(id) + ' ';
      EXPECT_EQ(got, line + ' ') << i << ": " << text;
    }
    if (!tokenizer) std::printf("%u: %s\n", i, why.c_str());
  }
  EXPECT_EQ(refused, 0u);
}

// The next id is that of the place behind all pieces; another one is not what the reference gives.
TEST_F(TokenizerFolderTest, IdsOfAddedTokensThatCannotBe) {
  write_text("config.json", R"({"model_type":"bert"})");
  write_text("tokenizer.json", bert_json(true));
  write_text("added_tokens.json", R"({"<new>":14})");
  EXPECT_THROW(Tokenizer::from_text(tokenizer_of_folder(path())), FileError);
}

}  // namespace
}  // namespace dynet_like::nn
