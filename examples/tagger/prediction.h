// Labelling sentences with a trained tagger: those of a data set, or those of a stream.
#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "examples/tagger/encoding.h"
#include "nn/data/text_lines.h"

namespace dynet_like::examples {

/// Records a sentence: a matrix with a column per word, in which the largest number is that of the
/// word's label. Shapes: {labels, words}.
using RecordLabels = std::function<Expression(ComputationGraph&, const EncodedSentence&)>;

/// Of every sentence, the number of the label of every word. They depend on neither the batch size
/// nor the number of threads.
std::vector<std::vector<unsigned>> predict_labels(const std::vector<EncodedSentence>& sentences,
                                                  std::size_t batch_size, unsigned threads,
                                                  const RecordLabels& record);

/// Reads sentences, one per line with spaces or tabs between the words, and writes "word TAB label"
/// for every word and a blank line after every sentence; blank lines are skipped. So many lines are
/// read, labelled and written at a time. Throws FileError past a limit.
void label_stream(std::istream& in, std::ostream& out, const Encoding& encoding,
                  std::size_t batch_size, unsigned threads, const RecordLabels& record,
                  const nn::TextLimits& limits);

}  // namespace dynet_like::examples
