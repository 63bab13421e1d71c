// WordLevel: a word is a piece, or unknown.
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "nn/text/models.h"

namespace dynet_like::nn::text {

namespace {

class WordLevel final : public Model {
 public:
  WordLevel(Pieces all, std::string unk_token)
      : Model(std::move(all)),
        unk_token_(std::move(unk_token)),
        unknown_(pieces().find(unk_token_)) {}

  void cut(std::string_view word, std::vector<WordPart>& parts) const override {
    std::optional<std::uint32_t> id = pieces().find(word);
    if (!id) id = unknown_;
    if (!id) {
      throw UsageError("WordLevel needs unk_token among its pieces for unknown words; got " +
                       detail::quoted_text(unk_token_));
    }
    parts.push_back({*id, 0, word.size()});
  }

 private:
  std::string unk_token_;
  std::optional<std::uint32_t> unknown_;
};

}  // namespace

std::unique_ptr<Model> make_word_level(Pieces pieces, std::string unk_token) {
  return std::make_unique<WordLevel>(std::move(pieces), std::move(unk_token));
}

}  // namespace dynet_like::nn::text
