// A network that passes messages along the bonds of molecules. Each molecule is a graph of its own,
// or all are joined by hand.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

namespace dynet_like::bench::molecules {

constexpr unsigned kAtomKinds = 10, kBondKinds = 3, kClasses = 2, kRounds = 3;

/// One molecule, or several as one graph. Bonds are listed in both directions, ordered by the atom
/// that they lead to.
struct Molecules {
  std::vector<unsigned> atoms;  ///< their kinds
  std::vector<unsigned> bonds;  ///< their kinds
  std::vector<unsigned> from;   ///< the atom that a bond comes from
  std::vector<unsigned> degrees;
  std::vector<unsigned> sizes;   ///< the number of atoms of each molecule
  std::vector<unsigned> labels;  ///< of each molecule

  void add(const Molecules& other) {
    const auto first = static_cast<unsigned>(atoms.size());
    const auto append = [](auto& to, const auto& all) {
      to.insert(to.end(), all.begin(), all.end());
    };
    append(atoms, other.atoms);
    append(bonds, other.bonds);
    for (const unsigned atom : other.from) from.push_back(first + atom);
    append(degrees, other.degrees);
    append(sizes, other.sizes);
    append(labels, other.labels);
  }
};

/// A tree of `size` atoms, at least 2, with a ring through some of them.
inline Molecules random_molecule(unsigned size, Random& random) {
  std::vector<std::vector<unsigned>> neighbours(size);
  const auto bind = [&](unsigned a, unsigned b) {
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  };
  for (unsigned atom = 1; atom < size; ++atom) {
    bind(atom, atom - 1 - static_cast<unsigned>(random.below(std::min(atom, 3u))));
  }
  if (size > 5) bind(0, size - 1);
  Molecules molecule;
  for (const std::vector<unsigned>& others : neighbours) {
    molecule.atoms.push_back(static_cast<unsigned>(random.below(kAtomKinds)));
    for (const unsigned other : others) {
      molecule.from.push_back(other);
      molecule.bonds.push_back(static_cast<unsigned>(random.below(kBondKinds)));
    }
    molecule.degrees.push_back(static_cast<unsigned>(others.size()));
  }
  molecule.sizes = {size};
  molecule.labels = {static_cast<unsigned>(random.below(kClasses))};
  return molecule;
}

struct GraphNetwork {
  explicit GraphNetwork(unsigned size) : hidden(size) {}

  /// Returns a loss per molecule.
  Expression losses(ComputationGraph& graph, const Molecules& molecules) const {
    Expression h = atoms.columns(graph, molecules.atoms);
    const Expression kinds = bonds.columns(graph, molecules.bonds);
    for (unsigned round = 0; round < kRounds; ++round) {
      const Expression messages = relu(gather(message(h), molecules.from, 1) + kinds);
      const Expression received = segment_sum(messages, molecules.degrees);
      h = relu(affine_transform({bias, of_own, h, of_received, received}));
    }
    const Expression scores = output(segment_sum(h, molecules.sizes));
    return cross_entropy(scores, molecules.labels);
  }

  unsigned hidden;
  ParameterCollection model{1};
  nn::Embedding atoms{model, kAtomKinds, hidden, {.name = "atoms"}};
  nn::Embedding bonds{model, kBondKinds, hidden, {.name = "bonds"}};
  nn::Linear message{model, hidden, hidden, {.name = "message"}};
  Parameter of_own = model.add_parameters({hidden, hidden}, "of_own");
  Parameter of_received = model.add_parameters({hidden, hidden}, "of_received");
  Parameter bias = model.add_parameters({hidden}, ParameterInitConst(0), "bias");
  nn::Linear output{model, hidden, kClasses, {.name = "output"}};
};

/// Records the losses of a minibatch, with one graph per molecule or one graph for all.
inline void record_each(Minibatch& batch, const GraphNetwork& network,
                        std::span<const Molecules> all) {
  for (const Molecules& molecule : all) {
    batch.add_loss(network.losses(batch.new_graph(), molecule));
  }
}
inline void record_joined(Minibatch& batch, const GraphNetwork& network,
                          std::span<const Molecules> all) {
  Molecules joined;
  for (const Molecules& molecule : all) joined.add(molecule);
  batch.add_loss(network.losses(batch.new_graph(), joined));
}

}  // namespace dynet_like::bench::molecules
