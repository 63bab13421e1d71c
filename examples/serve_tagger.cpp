// Learns to tag words, then does so for whoever asks by HTTP, until Ctrl-C.
//   serve_tagger [PORT [FILE.conllu]]    curl -d "The cat sleeps ." http://127.0.0.1:8080/
#include <dynet_like/dynet_like.h>
#include <dynet_like/serve/server.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <iostream>
#include <sstream>
using namespace dynet_like;

int main(int argc, char** argv) {
  const auto data = nn::read_conllu_tags(argc > 2 ? argv[2] : "examples/data/sentences.conllu");
  nn::Vocabulary words, tags;
  const unsigned unknown = words.set_unknown("<unknown>");
  for (const nn::TaggedSentence& sentence : data) {
    words.add_all(sentence.words);
    tags.add_all(sentence.tags);
  }
  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::Linear output(model, 64, tags.size());
  const auto scores = [&](ComputationGraph& graph, const std::vector<unsigned>& sentence) {
    return output(encoder(embedding.columns(graph, sentence)));
  };

  AdamTrainer trainer(model, 0.01f);
  nn::TrainingRun run(model, trainer, {.epochs = 10, .batch_size = 16});
  Minibatch batch;
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(batch, data.size())) {
      for (const unsigned i : samples) {
        std::vector<unsigned> ids = words.ids(data[i].words);
        for (unsigned& id : ids) id = run.random().below(10) == 0 ? unknown : id;
        const Dim by_word({tags.size()}, data[i].words.size());
        const Expression x = reshape(scores(batch.new_graph(), ids), by_word);
        batch.add_loss(pickneglogsoftmax(x, tags.ids(data[i].tags)));
      }
      run.update(batch);
    }
    run.finish_epoch();
  }

  serve::Options options;
  if (argc > 1) options.port = static_cast<unsigned short>(std::stoul(argv[1]));
  const auto tag = [&](ComputationGraph& graph, const std::string& text) {
    std::istringstream stream(text);
    const std::vector<std::string> sentence{std::istream_iterator<std::string>(stream), {}};
    if (sentence.empty()) throw serve::BadRequest("need words between spaces");
    std::string tagged;  // the request waits here for others that are there, and shares batches
    for (const unsigned id : argmax_of_columns(scores(graph, words.ids(sentence)).value()))
      tagged += tags.word(id) + "\n";
    return tagged;
  };
  serve::Server server(tag, options);
  std::cout << "http://127.0.0.1:" << server.port() << "/" << std::endl;
  server.run();
}
