// docs/layers.md: its table of the names of parameters is that of the layers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"
#include "tests/support/source_text.h"

namespace dynet_like {
namespace {

/// The row of a layer that `make` adds to a collection.
template <class Make>
std::string row_of(const std::string& layer, const Make& make) {
  ParameterCollection model;
  make(model);
  std::string row = "| `" + layer + "` |";
  const char* separator = " ";
  for (const auto& storage : model.storages()) {
    row += separator + ("`" + storage->name) + "`";
    separator = ", ";
  }
  return row + " |\n";
}

TEST(LayerNamesPageTest, HasTheNamesOfTheLayers) {
  const char* const source = std::getenv("DYNET_LIKE_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "DYNET_LIKE_SOURCE_DIR is not set";
  using Model = ParameterCollection;
  const std::string rows[] = {
      row_of("Linear", [](Model& m) { nn::Linear(m, 8, 8); }),
      row_of("MLP",
             [](Model& m) {
               nn::MLP(m, 8, {8, 8});
             }),
      row_of("LayerNorm", [](Model& m) { nn::LayerNorm(m, 8); }),
      row_of("RMSNorm", [](Model& m) { nn::RMSNorm(m, 8); }),
      row_of("Conv1D", [](Model& m) { nn::Conv1D(m, 8, 8, {.width = 3}); }),
      row_of("Embedding", [](Model& m) { nn::Embedding(m, 8, 8); }),
      row_of("LearnedPositions", [](Model& m) { nn::LearnedPositions(m, 8, 8); }),
      row_of("LSTM", [](Model& m) { nn::LSTM(m, 8, 8); }),
      row_of("GRU", [](Model& m) { nn::GRU(m, 8, 8); }),
      row_of("StackedLSTM", [](Model& m) { nn::StackedLSTM(m, 8, 8, {.layers = 2}); }),
      row_of("BidirectionalLSTM", [](Model& m) { nn::BidirectionalLSTM(m, 8, 8); }),
      row_of("TreeLSTM", [](Model& m) { nn::TreeLSTM(m, 8, 8); }),
      row_of("ChildSumTreeLSTM", [](Model& m) { nn::ChildSumTreeLSTM(m, 8, 8); }),
      row_of("MultiHeadAttention", [](Model& m) { nn::MultiHeadAttention(m, 8, {.heads = 2}); }),
      row_of("TransformerEncoder",
             [](Model& m) { nn::TransformerEncoder(m, {.size = 8, .hidden = 8, .heads = 2}); }),
      row_of("TransformerDecoder",
             [](Model& m) { nn::TransformerDecoder(m, {.size = 8, .hidden = 8, .heads = 2}); }),
      row_of("LinearChainCRF", [](Model& m) { nn::LinearChainCRF(m, 8); }),
  };
  const std::string page = source_text(std::filesystem::path(source) / "docs/layers.md");
  for (const std::string& row : rows) {
    EXPECT_NE(page.find(row), std::string::npos) << "docs/layers.md needs the row\n" << row;
  }
}

}  // namespace
}  // namespace dynet_like
