// Tags words by how they are written: LSTMs from both ends read the characters of every word, and
// others the words. So it tags words that it has never seen.
//   tag_by_characters [FILE.conllu]
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_conllu_tags(argc > 1 ? argv[1] : "examples/data/sentences.conllu");
  const std::size_t train = data.size();
  const auto split = [](const std::string& word) {
    return nn::split_line(word, nn::TextUnit::character);
  };
  nn::Vocabulary characters, tags;
  characters.set_unknown("<unknown>");
  for (const nn::TaggedSentence& sentence : data) {
    for (const std::string& word : sentence.words) characters.add_all(split(word));
    tags.add_all(sentence.tags);
  }

  ParameterCollection model(1);
  const nn::CharacterLSTM spelling(model, characters.size(), 16, 32);
  const nn::BidirectionalLSTM encoder(model, spelling.outputs(), 32);
  const nn::Linear output(model, 64, tags.size());
  // The scores of the tags of every word.
  const auto scores = [&](ComputationGraph& graph, const std::vector<std::string>& sentence) {
    std::vector<Expression> words, all;
    for (const auto& word : sentence) words.push_back(spelling(graph, characters.ids(split(word))));
    for (const Expression& state : encoder(words)) all.push_back(output(state));
    return all;
  };

  AdamTrainer trainer(model, 0.01f);
  nn::TrainingRun run(model, trainer, {.epochs = 8, .batch_size = 16});
  Minibatch batch;
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(batch, train)) {
      for (const unsigned i : samples) {
        const auto x = scores(batch.new_graph(), data[i].words);
        for (std::size_t k = 0; k < x.size(); ++k) {
          batch.add_loss(pickneglogsoftmax(x[k], tags.id(data[i].tags[k])));
        }
      }
      run.update(batch);
    }
    run.finish_epoch();
  }

  const std::vector<std::string> sentence = {"the", "fearful", "sailors", "boldly", "cooked", "."};
  ComputationGraph graph;
  const auto x = scores(graph, sentence);
  for (std::size_t k = 0; k < x.size(); ++k)
    std::printf("%s\t%s\n", sentence[k].c_str(), tags.word(argmax(x[k].value())).c_str());
}
