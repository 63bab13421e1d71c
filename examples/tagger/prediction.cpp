// Inference in minibatches of sentences of similar lengths.
#include "examples/tagger/prediction.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <utility>

#include "examples/tagger/task.h"
#include "nn/data/minibatches.h"

namespace dynet_like::examples {

namespace {

/// The number of the largest element of every column.
std::vector<unsigned> largest_of_columns(const Tensor& tensor) {
  const std::vector<float> values = as_vector(tensor);
  const std::size_t rows = tensor.d.rows();
  std::vector<unsigned> result;
  for (auto column = values.begin(); column != values.end(); column += static_cast<long>(rows)) {
    const auto largest = std::max_element(column, column + static_cast<long>(rows));
    result.push_back(static_cast<unsigned>(largest - column));
  }
  return result;
}

/// The words of a line.
std::vector<std::string> split(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

std::vector<std::vector<unsigned>> predict_labels(const std::vector<EncodedSentence>& sentences,
                                                  std::size_t batch_size, unsigned threads,
                                                  const RecordLabels& record) {
  GraphOptions options;
  options.inference = true;
  options.threads = threads;
  Minibatch minibatch(options);
  std::vector<std::vector<unsigned>> labels(sentences.size());
  for (const auto& batch : nn::sorted_minibatches(sentence_sizes(sentences), batch_size)) {
    minibatch.clear();
    const std::vector<Expression> outputs = minibatch.record(
        batch.size(),
        [&](ComputationGraph& graph, std::size_t i) { return record(graph, sentences[batch[i]]); });
    for (const Expression& output : outputs) minibatch.add_output(output);
    minibatch.forward();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      labels[batch[i]] = largest_of_columns(outputs[i].value());
    }
  }
  return labels;
}

std::string label_lines(std::span<const std::string> lines, const Encoding& encoding,
                        unsigned threads, const RecordLabels& record) {
  std::vector<std::vector<std::string>> sentences;
  std::vector<EncodedSentence> encoded;
  for (const std::string& line : lines) {
    std::vector<std::string> words = split(line);
    if (words.empty()) continue;
    encoded.push_back(encoding.encode(words));
    sentences.push_back(std::move(words));
  }
  const auto labels = predict_labels(encoded, lines.size(), threads, record);
  std::string text;
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    for (std::size_t i = 0; i < sentences[s].size(); ++i) {
      text += sentences[s][i] + '\t' + encoding.labels().word(labels[s][i]) + '\n';
    }
    text += '\n';
  }
  return text;
}

}  // namespace dynet_like::examples
