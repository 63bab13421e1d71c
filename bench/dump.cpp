// Writes data, weights and losses of the models, so that other programs can do the same work.
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "bench/models/models.h"
#include "bench/support/program.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/io/atomic_file.h"

namespace {

using namespace dynet_like;
namespace fs = std::filesystem;

constexpr const char* kAbout =
    "Writes all that another program needs to do the work of bench/throughput.\n"
    "\n"
    "  dump FOLDER      data, weights and losses.json\n"
    "  dump             prints losses.json only\n"
    "\n"
    "FOLDER/*.txt are the data sets, one instance per line, all numbers from 0; the first 64 "
    "lines\n"
    "are the first minibatch. A tree is its nodes in post-order, LABEL/WORD for a leaf and\n"
    "LABEL/LEFT/RIGHT with the numbers of children for an inner node; a sentence is WORD/TAG for\n"
    "each word, that of the language model words alone.\n"
    "FOLDER/MODEL_hHIDDEN.safetensors are the initial weights, float32 and row-major: a matrix is\n"
    "[outputs, inputs], a table [rows, size]. Names are paths such as \"/tree_lstm/U_left\"; the\n"
    "headers in nn/ and bench/models/models.h give the formulas and the order of the rows.\n"
    "losses.json has an object per model with \"data\", \"weights\" and \"losses\": by form, the "
    "sum\n"
    "of all losses of the first minibatch divided by 64, before any update.";

constexpr unsigned kFirst = 64;  // instances of the first minibatch

void write(std::ostream& out, const bench::BinaryTree& tree) {
  for (const bench::BinaryTree::Node& node : tree.nodes) {
    out << node.label << '/';
    node.is_leaf() ? out << node.word << ' ' : out << node.left << '/' << node.right << ' ';
  }
}

void write(std::ostream& out, const bench::Sentence& sentence) {
  for (std::size_t i = 0; i < sentence.words.size(); ++i) {
    out << sentence.words[i] << '/' << sentence.tags[i] << ' ';
  }
}

void write_words(std::ostream& out, const bench::Sentence& sentence) {
  for (const unsigned word : sentence.words) out << word << ' ';
}

template <class Instance>
void write_lines(const fs::path& path, const std::vector<Instance>& instances,
                 void (*write)(std::ostream&, const Instance&)) {
  std::ostringstream out;
  for (const Instance& instance : instances) {
    write(out, instance);
    out << '\n';
  }
  detail::write_atomically(path, out.view());
}

void write_data(const fs::path& folder) {
  write_lines<bench::BinaryTree>(folder / "trees.txt", bench::make_trees(bench::kTreeData), write);
  write_lines<bench::Sentence>(folder / "tagger.txt", bench::make_sentences(bench::kTaggerData),
                               write);
  write_lines<bench::Sentence>(folder / "language_model.txt",
                               bench::make_sentences(bench::kLanguageData), write_words);
}

double first_loss(const bench::Workload& workload) {
  Minibatch batch;
  for (unsigned i = 0; i < kFirst; ++i) batch.add_loss(workload.loss(batch.new_graph(), i));
  return static_cast<double>(batch.forward()) / kFirst;
}

// The entry of a model in losses.json. Writes its weights if there is a folder.
nlohmann::json describe(const bench::ModelKind& model, unsigned hidden, const std::string& name,
                        const fs::path& folder) {
  nlohmann::json entry = {{"data", model.data}, {"hidden", hidden}};
  for (const bench::Form form : {bench::Form::fused, bench::Form::ops}) {
    const std::unique_ptr<bench::Workload> workload = model.make(hidden, form);
    entry["losses"][form == bench::Form::fused ? "fused" : "ops"] = first_loss(*workload);
    if (form == bench::Form::fused && !folder.empty()) {
      entry["weights"] = name + ".safetensors";
      save_parameters(folder / (name + ".safetensors"), workload->parameters());
    }
  }
  return entry;
}

void run(int argc, char** argv) {
  std::string filter, folder;
  bench::Options options(kAbout);
  options
      .text("filter", filter,
            "only models whose name, such as tree_lstm_h128, contains this regular expression")
      .argument(folder);
  bench::add_real_files(options);
  if (!options.read(argc, argv)) return;
  if (!folder.empty()) {
    fs::create_directories(folder);
    write_data(folder);
  }
  nlohmann::json losses;
  const std::regex wanted(filter);
  for (const bench::ModelKind& model : bench::all_models()) {
    if (model.data == nullptr) continue;
    for (unsigned hidden : model.sizes) {
      const std::string name = fmt::format("{}_h{}", model.name, hidden);
      if (std::regex_search(name, wanted)) losses[name] = describe(model, hidden, name, folder);
    }
  }
  if (losses.empty()) throw UsageError("no model matches \"" + filter + "\"");
  const std::string text = losses.dump(2) + '\n';
  if (folder.empty()) {
    fmt::print("{}", text);
  } else {
    detail::write_atomically(fs::path(folder) / "losses.json", text);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("dump", [&] { run(argc, argv); });
}
