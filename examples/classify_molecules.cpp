// Classifies molecules: atoms send messages along their bonds (Gilmer et al. 2017).
//   classify_molecules [FILE]    lines "label TAB SMILES", with letters and brackets only
#include <dynet_like/dynet_like.h>
#include <nn/data.h>
#include <nn/nn.h>
#include <nn/train.h>
#include <iostream>
using namespace dynet_like;

std::vector<unsigned> bonds_of(const std::string& smiles) {  // of each atom to an earlier one
  std::vector<unsigned> bonds, last = {0};  // the atoms at open brackets, then the last atom
  for (const char c : smiles) {
    if (c == '(') last.push_back(last.back());
    if (c == ')') last.pop_back();
    if (c != '(' && c != ')') bonds.push_back(std::exchange(last.back(), bonds.size()));
  }
  return bonds;
}

int main(int argc, char** argv) {
  const auto data = nn::read_labelled_texts(argc > 1 ? argv[1] : "examples/data/molecules.tsv");
  const auto labels = nn::vocabulary_of(data, &nn::LabelledText::label);
  ParameterCollection model(1);
  const nn::Embedding embedding(model, 128, 32);
  const nn::Linear first(model, 32, 32), second(model, 32, 32), output(model, 32, labels.size());
  const auto scores = [&](ComputationGraph& graph, const std::string& smiles) {
    std::vector<unsigned> atoms(smiles.begin(), smiles.end()), bonds = bonds_of(smiles);
    std::erase_if(atoms, [](unsigned c) { return c == '(' || c == ')'; });
    Expression h = embedding.columns(graph, atoms);
    for (const nn::Linear& layer : {first, second})
      h = relu(h + layer(gather(h, bonds, 1) + scatter_add(h, bonds, bonds.size(), 1)));
    return output(max_dim(h, 1));
  };
  AdamTrainer trainer(model, 0.01f);
  const auto loss = [&](ComputationGraph& graph, const nn::LabelledText& each) {
    return cross_entropy(scores(graph, each.text), labels.id(each.label));
  };
  nn::train(trainer, data, loss, {.epochs = 30, .batch_size = 16});
  ComputationGraph graph({.inference = true});
  for (const char* smiles : {"CCCCCCO", "CCCCOC", "CNCC(C)C"})  // not in the data
    std::cout << smiles << ": " << labels.word(argmax(scores(graph, smiles).value())) << '\n';
}
