// A network that passes messages along the bonds of molecules (Gilmer et al. 2017; bonds as in Hu
// et al. 2020). Is there an amide, that is, a carbon with a double bond to an oxygen and a single
// bond to a nitrogen? Molecules with any numbers of atoms and bonds share batches. With two
// threads:
//   graph_network        generated molecules: 99.8 % of dev; 2 seconds
//   graph_network --train train.tsv --dev dev.tsv         lines "label TAB molecule"
// A molecule is its atoms, numbered from 1, and then its bonds: "C O N C 1=2 1-3 3-4" is
// N-methylformamide without its hydrogen atoms. Generated molecules are graphs, not chemistry:
// their atoms have any number of bonds.
#include <charconv>

#include "examples/full/support/generated.h"
#include "examples/full/support/program.h"
#include "nn/data/text.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;
using Text = nn::LabelledText;
using Texts = std::vector<Text>;

void add_options(OptionTable& table) {
  table.files("molecules");
  table.whole("train-molecules", {1, 1e7}, "8000", kNever, "size of the generated training data");
  table.whole("hidden", {1, 4096}, "64", "size of an atom's vector");
  table.whole("rounds", {1, 100}, "3", "rounds of messages");
}

const Program kProgram = {"graph_network",
                          "Classifies molecules. A line is \"label TAB molecule\"; a molecule is "
                          "atoms and bonds, such as\n"
                          "\"C O N 1=2 1-3\". --apply reads molecules, one per line, and writes "
                          "each with its label and a tab\n"
                          "in front.\n",
                          add_options,
                          {{"4", "20"}, {"32", "32"}, {"0.003", "0.003"}}};

const std::string kBonds = "-=#";

/// Bonds in both directions, ordered by the atom that they lead to. The first one of each atom
/// leads from itself.
struct Molecule {
  std::vector<std::string> atoms;
  std::vector<unsigned> from, kinds, degrees;

  /// Throws FileError, with the line, for an invalid molecule.
  Molecule(std::string_view text, const std::string& file = "molecule", std::size_t line = 0) {
    struct Bond {
      unsigned from, kind;
    };
    std::vector<std::vector<Bond>> bonds;  // for every atom
    for (const std::string& word : nn::split_line(text)) {
      const std::size_t kind = word.find_first_of(kBonds);
      if (kind == word.npos) {
        bonds.push_back(
            {{static_cast<unsigned>(atoms.size()), static_cast<unsigned>(kBonds.size())}});
        atoms.push_back(word);
        continue;
      }
      const auto atom = [&](std::string_view digits) {
        unsigned number = 0;
        const char* const end = digits.data() + digits.size();
        const auto [rest, error] = std::from_chars(digits.data(), end, number);
        const bool is_number = error == std::errc() && rest == end;
        if (is_number && number >= 1 && number <= atoms.size()) return number - 1;
        const std::string rule = fmt::format("from 1 to {} in a bond", atoms.size());
        throw FileError(file, fmt::format("need two atoms {}; got \"{}\"", rule, word), line);
      };
      const unsigned a = atom(word.substr(0, kind)), b = atom(word.substr(kind + 1));
      const auto number = static_cast<unsigned>(kBonds.find(word[kind]));
      bonds[a].push_back({b, number});
      bonds[b].push_back({a, number});
    }
    for (const std::vector<Bond>& own : bonds) {
      degrees.push_back(static_cast<unsigned>(own.size()));
      for (const Bond& bond : own) {
        from.push_back(bond.from);
        kinds.push_back(bond.kind);
      }
    }
    if (atoms.empty()) throw FileError(file, "need a molecule of an atom or more; got none", line);
  }
};

nn::Splits<Text> load(const Options& options) {
  const auto read = [](const std::string& file) {
    Texts texts = nn::read_labelled_texts(file);
    for (const Text& sample : texts) (void)Molecule(sample.text, file);
    return texts;
  };
  if (auto data = read_splits<Text>(options, read)) return *data;
  const auto make = [&](auto n, int part) { return generated_molecules(n, options.seed() + part); };
  return {make(options.whole("train-molecules"), 0), make(500, 1), {}};
}

struct Vocabularies {
  nn::Vocabulary atoms, labels;
};

Vocabularies vocabularies_of(const Texts& texts) {
  const auto atoms_of = [](const Text& each) { return Molecule(each.text).atoms; };
  return {nn::vocabulary_of(texts, atoms_of, "<unknown>"), nn::vocabulary_of(texts, &Text::label)};
}

struct Model {
  ParameterCollection& parameters;
  const Options& options;
  Vocabularies v;
  unsigned hidden = options.whole("hidden");
  nn::Embedding atoms{parameters, v.atoms.size(), hidden, {.name = "atoms"}};
  nn::Embedding bonds{
      parameters, static_cast<unsigned>(kBonds.size() + 1), hidden, {.name = "bonds"}};
  std::vector<nn::Linear> rounds = [this] {
    std::vector<nn::Linear> all;
    while (all.size() < options.whole("rounds")) all.emplace_back(parameters, hidden, hidden);
    return all;
  }();
  nn::Linear output{parameters, hidden, v.labels.size(), {.name = "output"}};

  /// The scores of the classes.
  Expression scores(ComputationGraph& graph, const std::string& text) const {
    const Molecule molecule(text);
    Expression h = atoms.columns(graph, v.atoms.ids(molecule.atoms));  // a column per atom
    const Expression kinds = bonds.columns(graph, molecule.kinds);     // a column per bond
    for (const nn::Linear& round : rounds) {
      const Expression messages = relu(gather(h, molecule.from, 1) + kinds);
      h = relu(round(segment_sum(messages, molecule.degrees)));
    }
    const auto size = static_cast<unsigned>(molecule.atoms.size());
    return output(pick(segment_max(h, {size}), 0, 1));  // one atom is enough
  }
  Expression loss(ComputationGraph& graph, const Text& sample) const {
    return cross_entropy(scores(graph, sample.text), v.labels.id(sample.label));
  }
  /// The best label of every molecule.
  std::vector<std::string> labels(const Texts& texts) const {
    const auto label = [&](ComputationGraph& graph, const Text& sample) {
      return v.labels.word(argmax_of_columns(scores(graph, sample.text).value()).front());
    };
    return nn::predict(texts, label, {.graph = options.graph()});
  }
};

int train(const Options& options) {
  const nn::Splits<Text> data = load(options);
  ParameterCollection parameters(options.seed());
  const Model model{parameters, options, vocabularies_of(data.train)};
  AdamWTrainer trainer(parameters);
  nn::TrainingOptions training = options.training("molecules", "accuracy");
  training.schedule.rate = nn::CosineRate{.peak = options.real("learning-rate"),
                                          .updates = training.updates(data.train.size())};
  training.files.texts = {{"atoms", model.v.atoms.to_text()}, {"labels", model.v.labels.to_text()}};
  training.stopping.dev_score = [&] {
    return nn::accuracy(model.labels(data.dev), data.dev, &Text::label);
  };
  begin_training(options, parameters, data);
  const auto loss = [&](auto& graph, const Text& sample) { return model.loss(graph, sample); };
  const auto progress = nn::train(trainer, data.train, loss, training);
  if (progress.interrupted) return stopped();
  nlohmann::json report = measure_batching(options, progress, data.train, "molecules_per_s", loss);
  report["dev_accuracy"] = progress.best_score;
  if (!data.test.empty())
    report_test(report, nn::accuracy(model.labels(data.test), data.test, &Text::label));
  return finish(options, training, progress, report);
}

int apply(Options& options) {
  const nn::SavedModel saved = options.load_model();
  ParameterCollection parameters;
  const Model model{parameters, options, {saved.vocabulary("atoms"), saved.vocabulary("labels")}};
  saved.load(parameters);
  const auto parse = [](const std::string& line, std::size_t number) {
    const Molecule checked(line, kStandardInput, number);
    return Text{"", line};
  };
  return label_lines(parse, [&](const Texts& texts) { return model.labels(texts); });
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train, apply); }
