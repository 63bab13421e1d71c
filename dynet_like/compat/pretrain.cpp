// Word vectors in text files, by dictionary.
#include "dynet/pretrain.h"

#include "nn/data/word_vectors.h"

namespace dynet {

void save_pretrained_embeddings(const std::string& fname, const Dict& d,
                                const LookupParameter& lp) {
  const dynet_like::LookupParameter& table = lp;
  dynet_like::nn::WordVectorWriter writer(fname);
  for (unsigned id = 0; id < d.size(); ++id) {
    writer.write(d.get_words()[id], as_vector(table.values(id)));
  }
  writer.commit();
}

void read_pretrained_embeddings(const std::string& fname, Dict& d,
                                std::unordered_map<int, std::vector<float>>& vectors) {
  dynet_like::nn::WordVectorReader reader(fname);
  while (reader.next()) {
    const std::string word(reader.word());
    if (d.is_frozen() && !d.contains(word)) continue;
    vectors[d.convert(word)].assign(reader.vector().begin(), reader.vector().end());
  }
}

}  // namespace dynet
