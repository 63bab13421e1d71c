// Tags words by their spelling: one bidirectional LSTM reads the characters of every word, another
// the words. So it can tag words that it has never seen.
//   tag_by_characters [FILE.conllu]
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_conllu_tags(argc > 1 ? argv[1] : "examples/data/sentences.conllu");
  const auto tags = nn::vocabulary_of(data, &nn::TaggedSentence::tags);
  const auto split = [](auto& word) { return nn::split_line(word, nn::TextUnit::character); };
  nn::Vocabulary characters;
  characters.set_unknown("<unknown>");
  for (const nn::TaggedSentence& sentence : data)
    for (const std::string& word : sentence.words) characters.add_all(split(word));
  ParameterCollection model(1);
  const nn::CharacterLSTM spelling(model, characters.size(), 16, {.hidden = 32});
  const nn::BidirectionalLSTM encoder(model, spelling.outputs(), 32);
  const nn::Linear output(model, encoder.outputs(), tags.size());
  // A column of scores for every word.
  const auto scores = [&](ComputationGraph& graph, const nn::TaggedSentence& sentence) {
    std::vector<Expression> words;
    for (const std::string& word : sentence.words)
      words.push_back(spelling(graph, characters.ids(split(word))));
    return output(encoder(concatenate_cols(words)));
  };

  AdamTrainer trainer(model, 0.01f);
  const auto loss = [&](ComputationGraph& graph, const nn::TaggedSentence& sentence) {
    return cross_entropy(scores(graph, sentence), tags.ids(sentence.tags));
  };
  nn::train(trainer, data, loss, {.epochs = 8, .batch_size = 16});

  const nn::TaggedSentence sentence = {{"the", "fearful", "sailors", "boldly", "cooked", "."}, {}};
  ComputationGraph graph({.inference = true});
  const auto found = tags.words(argmax_of_columns(scores(graph, sentence).value()));
  for (std::size_t k = 0; k < found.size(); ++k)
    std::printf("%s\t%s\n", sentence.words[k].c_str(), found[k].c_str());
}
