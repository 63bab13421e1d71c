// Labelling sentences with a trained tagger: those of a data set, or those of a stream.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "examples/tagger/encoding.h"

namespace dynet_like::examples {

/// Records a sentence: a matrix with a column per word, in which the largest number is that of the
/// word's label. Shapes: {labels, words}.
using RecordLabels = std::function<Expression(ComputationGraph&, const EncodedSentence&)>;

/// Of every sentence, the number of the label of every word. They depend on neither the batch size
/// nor the number of threads.
std::vector<std::vector<unsigned>> predict_labels(const std::vector<EncodedSentence>& sentences,
                                                  std::size_t batch_size, unsigned threads,
                                                  const RecordLabels& record);

/// Labels sentences, one per line with spaces or tabs between the words: "word TAB label" for every
/// word and a blank line after every sentence; blank lines are skipped.
std::string label_lines(std::span<const std::string> lines, const Encoding& encoding,
                        unsigned threads, const RecordLabels& record);

}  // namespace dynet_like::examples
