// Structure: the vertices of a sample and their edges, for a recursion.
#pragma once

#include <memory>
#include <span>
#include <vector>

namespace dynet_like {

namespace detail {
struct Vertices;
}

/// The vertices of one sample, such as the words of a sentence or the nodes of a tree, and what
/// each of them reads: the states of other vertices and a column of a matrix. A structure never
/// changes and is cheap to copy: make it once per training sample and keep it.
class Structure {
 public:
  static constexpr unsigned kNoColumn = ~0u;

  struct Vertex {
    /// The vertices whose states it reads, in the order in which the function gets them.
    std::vector<unsigned> predecessors = {};
    /// The column that it reads in every input matrix.
    unsigned column = kNoColumn;
    /// A number of your choice: the function may do something else for each kind.
    unsigned kind = 0;
    /// Instead of `column`, a column for each input matrix. Leave it empty for a vertex without
    /// columns.
    std::vector<unsigned> columns = {};
  };

  /// Any acyclic graph, with its vertices in any order. Throws UsageError for a predecessor that
  /// does not exist, for a cycle, for vertices that read different numbers of matrices, and for
  /// 2^28 vertices or 2^32 predecessors or more.
  explicit Structure(std::span<const Vertex> vertices);
  // Moving copies, so that a moved-from object still has its vertices.
  Structure(const Structure&) = default;
  Structure& operator=(const Structure&) = default;
  /// n vertices in a row: vertex i reads column i and, except for the first, vertex i - 1.
  static Structure sequence(unsigned n);
  /// The same from the last to the first: vertex i reads column i and vertex i + 1.
  static Structure reversed_sequence(unsigned n);

  unsigned size() const;
  const std::shared_ptr<const detail::Vertices>& vertices() const { return vertices_; }

 private:
  std::shared_ptr<const detail::Vertices> vertices_;
};

}  // namespace dynet_like
