// Learns to tag words, then tags sentences that clients send by HTTP, until Ctrl-C.
//   serve_tagger [PORT [FILE.conllu]]    curl -d "The cat sleeps ." http://127.0.0.1:8080/
#include <dynet_like/dynet_like.h>
#include <dynet_like/serve/server.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <iostream>
using namespace dynet_like;

int main(int argc, char** argv) {
  const unsigned long port = argc > 1 ? std::stoul(argv[1]) : 8080;  // 0: any that is free
  if (port > 65535) throw UsageError("need a port from 0 to 65535; got " + std::string(argv[1]));
  const auto data = nn::read_conllu_tags(argc > 2 ? argv[2] : "examples/data/sentences.conllu");
  const auto words = nn::vocabulary_of(data, &nn::TaggedSentence::words, "<unknown>");
  const auto tags = nn::vocabulary_of(data, &nn::TaggedSentence::tags);

  ParameterCollection model(1);
  const nn::Embedding embedding(model, words.size(), 32);
  const nn::BidirectionalLSTM encoder(model, 32, 32);
  const nn::Linear output(model, encoder.outputs(), tags.size());
  const auto scores = [&](ComputationGraph& graph, const auto& sentence) {
    const auto ids = nn::drop_words(graph, words.ids(sentence), *words.unknown(), 0.1f);
    return output(encoder(embedding.columns(graph, ids)));
  };
  AdamTrainer trainer(model, 0.01f);
  const auto loss = [&](ComputationGraph& graph, const nn::TaggedSentence& sentence) {
    return cross_entropy(scores(graph, sentence.words), tags.ids(sentence.tags));
  };
  nn::train(trainer, data, loss, {.epochs = 10, .batch_size = 16});
  const auto tag = [&](ComputationGraph& graph, const std::string& text) {
    const auto sentence = nn::split_line(text);
    if (sentence.empty()) throw serve::BadRequest("need words between spaces");
    std::string tagged;  // a request waits for others, to share batches
    for (const unsigned id : argmax_of_columns(scores(graph, sentence).value()))
      tagged += tags.word(id) + "\n";
    return tagged;
  };
  serve::Server server(tag, {.port = static_cast<unsigned short>(port)});
  std::cout << "http://127.0.0.1:" << server.port() << "/" << std::endl;
  server.run();
}
