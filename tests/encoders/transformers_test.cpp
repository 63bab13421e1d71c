// Encoders against Hugging Face's transformers: outputs, gradients, and files in both directions.
#include "tests/encoders/small_encoders.h"
#include "tests/encoders/torch_test.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"
#include "tests/support/source_text.h"

namespace dynet_like::nn {
namespace {

// Records the loss of all sentences; returns their layers.
std::vector<std::vector<Expression>> record(Minibatch& batch, const Encoder& encoder,
                                            const SafetensorsFile& expected) {
  std::vector<std::vector<Expression>> layers;
  for (unsigned i = 0; expected.find("ids." + std::to_string(i)) != nullptr; ++i) {
    ComputationGraph& graph = batch.new_graph();
    const std::vector<float> ids = floats(expected, "ids." + std::to_string(i));
    layers.push_back(encoder.layers(graph, std::vector<std::uint32_t>(ids.begin(), ids.end())));
    const Expression& y = layers.back().back();
    const auto weights = floats(expected, "weights." + std::to_string(i));
    batch.add_loss(dot_product(y, input(graph, y.dim(), weights)));
  }
  return layers;
}

class TransformersTest : public TorchTest {
 protected:
  // Compares a model in a folder with what NAME.safetensors expects.
  void compare(const std::string& folder, const std::string& name, std::size_t layers_compared) {
    SCOPED_TRACE(name);
    ParameterCollection model;
    const Encoder encoder = load_encoder(model, folder);
    const auto expected = SafetensorsFile::read(path(name + ".safetensors"));
    Minibatch batch;
    const auto layers = record(batch, encoder, expected);
    batch.forward();
    double worst = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const auto check = [&](const Expression& got, const std::string& what) {
        const double own = difference(as_vector(got.value()), floats(expected, what));
        EXPECT_LT(own, 1e-5) << what;
        worst = std::max(worst, own);
      };
      const std::string number = "." + std::to_string(i);
      for (std::size_t k = 0; k < layers_compared; ++k) {
        check(layers[i][k], "layer" + number + "." + std::to_string(k));
      }
      check(layers[i].back(), "output" + number);
    }
    std::printf("%s: %zu sentences, largest difference of outputs %.1e, ", name.c_str(),
                layers.size(), worst);
    encoder.save(path(name + "-saved"));
    check_gradients(model, encoder, batch.backward(), expected);
  }

  // Writes gradients in place of the parameters, so that they have their names in files.
  void check_gradients(const ParameterCollection& model, const Encoder& encoder,
                       const Gradients& gradients, const SafetensorsFile& expected) {
    for (const auto& parameter : model.storages()) {
      const std::vector<float> all = gradients.all_values(*parameter);
      const Tensor to = parameter->tensor();
      for (std::size_t i = 0; i < all.size(); ++i) to.set(i, static_cast<double>(all[i]));
      parameter->values_written();
    }
    encoder.save(path("gradients"));
    const auto found = SafetensorsFile::read(path("gradients/model.safetensors"));
    double worst = 0;
    for (const TensorEntry& entry : found.entries()) {
      if (expected.find("gradient." + entry.name) == nullptr) {
        for (const float each : floats(found, entry.name)) EXPECT_EQ(each, 0) << entry.name;
        continue;
      }
      const double own =
          difference(floats(found, entry.name), floats(expected, "gradient." + entry.name));
      EXPECT_LT(own, 1e-4) << entry.name;
      worst = std::max(worst, own);
    }
    std::printf("of gradients %.1e\n", worst);
  }
};

TEST_F(TransformersTest, OutputsAndGradientsAgree) {
  std::string families;
  for (const std::string& family : kFamilies) families += family + " ";
  run_script("reference.py", "make " + families);
  for (const std::string& family : kFamilies) compare(path(family), family, 3);
  run_script("reference.py", "check " + families);
}

TEST_F(TransformersTest, TheTableOfDefaultsIsThatOfTheScript) {
  run("import runpy\nrunpy.run_path('" + source_folder() + "/scripts/encoder_defaults.py')\n");
  EXPECT_EQ(contents("out"), source_text(source_folder() + "/tests/encoders/defaults.json"));
}

// Without dropout, which cannot be the same.
TEST_F(TransformersTest, APublishedModelAgrees) {
  if (runs_slowly()) GTEST_SKIP() << "would take ten minutes";
  const std::string model = source_folder() + "/build/minilm";
  const char* const data = std::getenv("DYNET_LIKE_DATA");
  if (!std::filesystem::exists(model + "/complete") || data == nullptr) {
    GTEST_SKIP() << "needs scripts/minilm_model.sh, and DYNET_LIKE_DATA";
  }
  run_script("reference.py",
             "given " + model + " " + data + "/ud_english_ewt/en_ewt-ud-dev.conllu");
  std::filesystem::create_directory(path("model"));
  std::filesystem::create_symlink(model + "/model.safetensors", path("model/model.safetensors"));
  EncoderConfig config = EncoderConfig::read(model + "/config.json");
  config.embedding_dropout = config.attention_output_dropout = config.network_dropout = 0;
  config.attention_dropout = 0;
  std::ofstream(path("model/config.json")) << config.to_text();
  compare(path("model"), "given", 0);
}

}  // namespace
}  // namespace dynet_like::nn
