// Structure: what a recursion runs along.
#pragma once

#include <memory>
#include <span>

namespace dynet_like {

namespace detail {
struct Vertices;
}

/// The vertices of one sample, such as the words of a sentence or the nodes of a tree, and what
/// each of them reads: the states of others and a column of a matrix. It never changes and is cheap
/// to copy, so that one that was made of a training sample can be kept with it.
class Structure {
 public:
  static constexpr unsigned kNoColumn = ~0u;

  struct Vertex {
    /// The vertices whose states it reads, in the order in which the function gets them.
    std::span<const unsigned> predecessors = {};
    /// The column that it reads, of every input matrix.
    unsigned column = kNoColumn;
    /// The program's own: the function may do something else for each.
    unsigned kind = 0;
    /// Instead of `column`, one for each input matrix. A vertex that has none of them may leave
    /// this empty.
    std::span<const unsigned> columns = {};
  };

  /// Any graph without cycles, its vertices in any order. Throws UsageError for a predecessor that
  /// there is not, for a cycle, for vertices that read different numbers of matrices, and for 2^28
  /// vertices or 2^32 predecessors.
  explicit Structure(std::span<const Vertex> vertices);
  // To move is to copy: it never has no vertices to ask.
  Structure(const Structure&) = default;
  Structure& operator=(const Structure&) = default;
  /// n vertices in a row: vertex i reads column i and, but for the first, vertex i - 1.
  static Structure sequence(unsigned n);
  /// The same from the last to the first: vertex i reads column i and vertex i + 1.
  static Structure reversed_sequence(unsigned n);

  unsigned size() const;
  const std::shared_ptr<const detail::Vertices>& vertices() const { return vertices_; }

 private:
  std::shared_ptr<const detail::Vertices> vertices_;
};

}  // namespace dynet_like
