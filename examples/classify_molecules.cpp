// Classifies molecules: atoms send messages along their bonds (Gilmer et al. 2017).
//   classify_molecules [FILE]    lines "label TAB SMILES", the latter of letters and brackets
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <cstdio>
using namespace dynet_like;

struct Molecule {
  Molecule(const std::string& smiles) {
    std::vector<unsigned> last = {0};  // the last atom, behind those at open brackets
    for (const char c : smiles) {
      if (c == '(') last.push_back(last.back());
      if (c == ')') last.pop_back();
      if (c == '(' || c == ')') continue;
      before.push_back(last.back());
      last.back() = atoms.size();
      atoms.push_back({c});
    }
  }
  std::vector<std::string> atoms;
  std::vector<unsigned> before;  // the atom that each has a bond to; of the first one itself
};

int main(int argc, char** argv) {
  const auto data = nn::read_labelled_texts(argc > 1 ? argv[1] : "examples/data/molecules.tsv");
  nn::Vocabulary atoms, labels;
  for (const nn::LabelledText& each : data) atoms.add_all(Molecule(each.text).atoms);
  for (const nn::LabelledText& each : data) labels.add(each.label);
  ParameterCollection model(1);
  const nn::Embedding embedding(model, atoms.size(), 32);
  const nn::Linear first(model, 32, 32), second(model, 32, 32), output(model, 32, labels.size());
  const auto scores = [&](ComputationGraph& graph, const Molecule& m) {
    const unsigned n = m.atoms.size();
    Expression h = embedding.columns(graph, atoms.ids(m.atoms));
    for (const nn::Linear& layer : {first, second})
      h = rectify(h + layer(gather(h, m.before, 1) + scatter_add(h, m.before, n, 1)));
    return output(reshape(segment_max(h, {n}), {32}));
  };
  AdamTrainer trainer(model, 0.01f);
  nn::TrainingRun run(model, trainer, {.epochs = 30, .batch_size = 16});
  Minibatch batch;
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(batch, data.size())) {
      for (const unsigned i : samples) {
        const Expression x = scores(batch.new_graph(), data[i].text);
        batch.add_loss(pickneglogsoftmax(x, labels.id(data[i].label)));
      }
      run.update(batch);
    }
    run.finish_epoch();
  }
  for (const std::string smiles : {"CCCCCCO", "CCCCOC", "CNCC(C)C"}) {  // not in the data
    ComputationGraph graph;
    std::printf("%s: %s\n", smiles.c_str(),
                labels.word(argmax(scores(graph, smiles).value())).c_str());
  }
}
