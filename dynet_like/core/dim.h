// The shape of a value: up to 7 dimensions, column-major, and the explicit minibatch dimension.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <vector>

namespace dynet_like {

/// `Dim({3, 4})` is a matrix of 3 rows and 4 columns, `Dim({3}, 5)` a minibatch of 5 vectors.
/// Elements lie column by column, minibatch elements one behind the other. Members have DyNet's
/// names. Throws ShapeError for more than 7 dimensions, more than 2^31 - 1 elements, or an empty
/// minibatch.
struct Dim {
  static constexpr unsigned kMaxDimensions = 7;

  Dim() = default;
  Dim(std::initializer_list<unsigned> sizes, unsigned batch = 1);
  Dim(const std::vector<long>& sizes, unsigned batch = 1);
  /// From integers of another type.
  template <std::integral Integer>
  Dim(std::initializer_list<Integer> sizes, unsigned batch = 1) : bd(batch) {
    for (const Integer size : sizes) append(static_cast<long long>(size));
    check();
  }

  /// Number of elements of the whole minibatch.
  unsigned size() const { return batch_size() * bd; }
  /// Number of elements of one minibatch element.
  unsigned batch_size() const {
    unsigned product = 1;
    for (unsigned i = 0; i < nd; ++i) product *= d[i];
    return product;
  }
  unsigned sum_dims() const;
  unsigned ndims() const { return nd; }
  unsigned rows() const { return nd > 0 ? d[0] : 1; }
  unsigned cols() const { return nd > 1 ? d[1] : 1; }
  unsigned batch_elems() const { return bd; }
  unsigned num_nonone_dims() const;
  /// Size of dimension i; dimensions beyond the last one have size 1.
  unsigned operator[](unsigned i) const { return i < nd ? d[i] : 1; }
  unsigned size(unsigned i) const { return (*this)[i]; }

  /// The same shape without trailing dimensions of size 1 (at least one dimension stays).
  Dim truncate() const;
  /// The shape of one minibatch element.
  Dim single_batch() const;
  Dim transpose() const;

  void resize(unsigned dimensions);
  void set(unsigned i, unsigned size);
  void add_dim(unsigned size);
  void insert_dim(unsigned i, unsigned size);
  void delete_dim(unsigned i);
  void delete_dims(std::vector<unsigned> dimensions, bool reduce_batch);

  /// The sizes of one minibatch element: "{3,4}".
  void print_profile(std::ostream& out) const;

  /// Throws ShapeError unless the shape is within the limits above.
  void check() const;

  unsigned d[kMaxDimensions] = {};
  unsigned nd = 0;
  unsigned bd = 1;

 private:
  void append(long long size);
};

bool operator==(const Dim& a, const Dim& b);
inline bool operator!=(const Dim& a, const Dim& b) { return !(a == b); }

/// "{3,4}", with a minibatch of five "{3,4X5}".
std::ostream& operator<<(std::ostream& out, const Dim& dim);
std::ostream& operator<<(std::ostream& out, const std::vector<Dim>& dims);
/// Reads what operator<< writes; sets failbit on anything else.
std::istream& operator>>(std::istream& in, Dim& dim);
std::string to_string(const Dim& dim);

}  // namespace dynet_like
