// Tests that compare with PyTorch, transformers and Sentence Transformers, if they are installed.
#pragma once

#include <cstdlib>

#include "dynet_like/io/safetensors.h"
#include "tests/support/python.h"

namespace dynet_like::nn {

inline std::string source_folder() {
  const char* const source = std::getenv("DYNET_LIKE_SOURCE_DIR");
  return source != nullptr ? source : ".";
}

inline std::string torch_interpreter() {
  const char* const chosen = std::getenv("DYNET_LIKE_PYTHON_TORCH");
  return chosen != nullptr ? chosen : source_folder() + "/build/python_torch/bin/python";
}

/// The numbers of a tensor in F32. Throws if the file lacks it.
inline std::vector<float> floats(const TensorEntries& file, const std::string& name) {
  const TensorEntry* const entry = file.find(name);
  if (entry == nullptr) throw std::runtime_error("need the tensor " + name);
  std::vector<float> values(entry->bytes.size() / sizeof(float));
  std::memcpy(values.data(), entry->bytes.data(), entry->bytes.size());
  return values;
}

/// The largest difference, relative to the largest number or 1.
inline double difference(const std::vector<float>& got, const std::vector<float>& expected) {
  if (got.size() != expected.size()) return INFINITY;
  double worst = 0, scale = 1;
  for (std::size_t i = 0; i < got.size(); ++i) {
    scale = std::max(scale, std::abs(static_cast<double>(expected[i])));
    const double own = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
    if (!(own <= worst)) worst = own;
  }
  return worst / scale;
}

/// Skipped unless Python has the modules.
class TorchTest : public PythonTest {
 protected:
  explicit TorchTest(std::string modules = "torch, transformers")
      : PythonTest(torch_interpreter()), modules_(std::move(modules)) {}

  void SetUp() override {
    if (!imports(modules_)) {
      GTEST_SKIP() << "needs Python with " << modules_ << ": scripts/python_torch.sh";
    }
  }

  /// Runs a script of this folder with arguments that have no spaces.
  void run_script(const std::string& script, const std::string& arguments) {
    run("import runpy, sys\nsys.argv = '" + script + " " + arguments +
        "'.split()\nrunpy.run_path('" + source_folder() + "/tests/encoders/" + script + "')\n");
  }

 private:
  std::string modules_;
};

}  // namespace dynet_like::nn
