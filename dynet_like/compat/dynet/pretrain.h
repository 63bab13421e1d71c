// DyNet's pretrain.h: word vectors in text files.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "dynet/dict.h"
#include "dynet/model.h"

namespace dynet {

/// Writes a line "word number number ..." for every word of the dictionary, from the row of its
/// number. Throws UsageError if the table has fewer rows, or a word has spaces; FileError.
void save_pretrained_embeddings(const std::string& fname, const Dict& d, const LookupParameter& lp);
/// Reads such a file, with or without word2vec's first line of sizes. Adds the words to the
/// dictionary, and their vectors to `vectors`, by number. Words that a frozen dictionary does not
/// have are skipped. Throws FileError for a malformed file.
void read_pretrained_embeddings(const std::string& fname, Dict& d,
                                std::unordered_map<int, std::vector<float>>& vectors);

}  // namespace dynet
