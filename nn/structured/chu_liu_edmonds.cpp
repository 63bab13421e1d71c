// The best tree, whose arcs may cross: cycles of best arcs are contracted to vertices (Tarjan
// 1977).
#include <algorithm>
#include <compare>
#include <limits>

#include "nn/structured/arc_scores.h"
#include "nn/structured/dependency_trees.h"

namespace dynet_like::nn {

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

/// Compared by the first component that differs. For Roots::one, `roots` is -1 for arcs from the
/// root: so the best tree has as few of them as possible, whatever the scores are.
struct Weight {
  double roots = kNone, score = kNone;

  auto operator<=>(const Weight&) const = default;
  Weight operator-(const Weight& other) const { return {roots - other.roots, score - other.score}; }
};

/// An arc to `word`; its context says from where. For arcs into a cycle, the weight is the gain of
/// the whole cycle.
struct Arc {
  unsigned word = 0;
  Weight weight;
};

/// Vertices are the root and the words, then the cycles that were found.
class Arborescence {
 public:
  Arborescence(const ArcScores& scores, Roots roots)
      : size_(scores.words() + 1), vertices_(size_), top_(size_) {
    for (unsigned word = 0; word < size_; ++word) {
      top_[word] = word;
      vertices_[word].arcs.resize(size_);
      for (unsigned head = 0; head < size_; ++head) {
        const double score = scores(head, word);
        const double root = roots == Roots::one && head == 0 ? -1 : 0;
        vertices_[word].arcs[head] = {word, score == kNone ? Weight() : Weight{root, score}};
      }
    }
    vertices_[0].reaches_root = true;
    for (unsigned word = 1; word < size_; ++word) attach(top_[word]);
  }

  /// From the outermost cycle inwards: the arc into a cycle replaces that of the vertex that it
  /// enters.
  std::vector<unsigned> heads() {
    for (std::size_t cycle = vertices_.size(); cycle-- > size_;) {
      const unsigned head = vertices_[cycle].head;
      std::size_t member = vertices_[cycle].arcs[head].word;
      while (vertices_[member].cycle != cycle) member = vertices_[member].cycle;
      vertices_[member].head = head;
    }
    std::vector<unsigned> heads;
    for (unsigned word = 1; word < size_; ++word) heads.push_back(vertices_[word].head);
    return heads;
  }

 private:
  struct Vertex {
    std::vector<Arc> arcs;  ///< the best arc from the root and each word
    unsigned head = 0;      ///< the head of the chosen arc
    std::size_t cycle = 0;  ///< the cycle that it belongs to, or 0
    bool reaches_root = false, on_path = false;
  };

  /// Follows the best arcs backwards until they lead to the root. Contracts cycles on the way.
  void attach(std::size_t vertex) {
    std::vector<std::size_t> path;
    while (!vertices_[vertex].reaches_root) {
      vertices_[vertex].on_path = true;
      path.push_back(vertex);
      vertices_[vertex].head = best_head(vertex);
      vertex = top_[vertices_[vertex].head];
      if (vertices_[vertex].on_path) vertex = join_cycle(path, vertex);
    }
    for (const std::size_t each : path) {
      vertices_[each].reaches_root = true;
      vertices_[each].on_path = false;
    }
  }

  unsigned best_head(std::size_t vertex) const {
    const std::vector<Arc>& arcs = vertices_[vertex].arcs;
    const Arc* best = nullptr;
    for (unsigned head = 0; head < size_; ++head) {
      if (top_[head] == vertex) continue;
      if (best == nullptr || arcs[head].weight > best->weight) best = &arcs[head];
    }
    if (best->weight.score == kNone) throw_no_tree("chu_liu_edmonds");
    return static_cast<unsigned>(best - arcs.data());
  }

  /// Removes the vertices from `first` on from the path. Returns the vertex that replaces them.
  std::size_t join_cycle(std::vector<std::size_t>& path, std::size_t first) {
    const std::size_t cycle = vertices_.size();
    Vertex joined;
    joined.arcs.resize(size_);
    const auto begin = std::find(path.begin(), path.end(), first);
    for (auto member = begin; member != path.end(); ++member) {
      Vertex& vertex = vertices_[*member];
      const Weight replaced = vertex.arcs[vertex.head].weight;
      vertex.cycle = cycle;
      vertex.on_path = false;
      for (unsigned head = 0; head < size_; ++head) {
        const Arc arc = {vertex.arcs[head].word, vertex.arcs[head].weight - replaced};
        if (member == begin || arc.weight > joined.arcs[head].weight) joined.arcs[head] = arc;
      }
    }
    path.erase(begin, path.end());
    for (std::size_t& top : top_) {
      if (vertices_[top].cycle == cycle) top = cycle;
    }
    vertices_.push_back(std::move(joined));
    return cycle;
  }

  std::size_t size_;
  std::vector<Vertex> vertices_;
  std::vector<std::size_t> top_;  ///< for the root and each word, the outermost cycle around it
};

std::vector<unsigned> best_of_all(const ArcScores& scores, Roots roots) {
  const std::vector<unsigned> heads = Arborescence(scores, roots).heads();
  if (!is_tree(heads, roots)) throw_no_tree("chu_liu_edmonds");
  return heads;
}

}  // namespace

std::vector<unsigned> chu_liu_edmonds(std::span<const float> scores, Roots roots) {
  return best_of_all({"chu_liu_edmonds", {scores.begin(), scores.end()}}, roots);
}
std::vector<unsigned> chu_liu_edmonds(const Tensor& scores, Roots roots) {
  return best_of_all({"chu_liu_edmonds", scores_in("chu_liu_edmonds", scores)}, roots);
}

}  // namespace dynet_like::nn
