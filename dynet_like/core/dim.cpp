// Dim: checks, editing and text form.
#include "dynet_like/core/dim.h"

#include <algorithm>
#include <istream>
#include <limits>
#include <ostream>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like {

Dim::Dim(std::initializer_list<unsigned> sizes, unsigned batch) : bd(batch) {
  if (sizes.size() > kMaxDimensions) {
    throw ShapeError("[Dim] need at most 7 dimensions; got " + std::to_string(sizes.size()));
  }
  for (unsigned size : sizes) d[nd++] = size;
  check();
}

Dim::Dim(const std::vector<long>& sizes, unsigned batch) : bd(batch) {
  for (const long size : sizes) append(size);
  check();
}

void Dim::append(long long size) {
  if (nd == kMaxDimensions) {
    throw ShapeError("[Dim] need at most 7 dimensions; got " + to_string(*this) + " and " +
                     std::to_string(size));
  }
  if (size < 0 || size > std::numeric_limits<int>::max()) {
    throw ShapeError("[Dim] need sizes from 0 to 2^31 - 1; got " + std::to_string(size));
  }
  d[nd++] = static_cast<unsigned>(size);
}

void Dim::check() const {
  constexpr std::uint64_t kLimit = std::numeric_limits<std::int32_t>::max();
  if (bd == 0) {
    throw ShapeError("[Dim] need a minibatch of at least one element; got " + to_string(*this));
  }
  std::uint64_t product = bd;
  for (unsigned i = 0; i < nd; ++i) {
    if (d[i] != 0 && product > kLimit / d[i]) {
      throw ShapeError("[Dim] need at most 2^31 - 1 elements; got " + to_string(*this));
    }
    product *= d[i];
  }
}

unsigned Dim::sum_dims() const {
  unsigned sum = 0;
  for (unsigned i = 0; i < nd; ++i) sum += d[i];
  return sum;
}

unsigned Dim::num_nonone_dims() const {
  return static_cast<unsigned>(std::count_if(d, d + nd, [](unsigned size) { return size != 1; }));
}

Dim Dim::truncate() const {
  Dim result = *this;
  while (result.nd > 1 && result.d[result.nd - 1] == 1) result.resize(result.nd - 1);
  return result;
}

Dim Dim::single_batch() const {
  Dim result = *this;
  result.bd = 1;
  return result;
}

Dim Dim::transpose() const {
  if (nd > 2)
    throw ShapeError("[Dim::transpose] need at most 2 dimensions; got " + to_string(*this));
  return Dim({cols(), rows()}, bd);
}

void Dim::resize(unsigned dimensions) {
  if (dimensions > kMaxDimensions) {
    throw ShapeError("[Dim] need at most 7 dimensions; got " + std::to_string(dimensions));
  }
  for (unsigned i = nd; i < dimensions; ++i) d[i] = 1;
  for (unsigned i = dimensions; i < nd; ++i) d[i] = 0;
  nd = dimensions;
}

void Dim::set(unsigned i, unsigned size) {
  if (i >= nd) {
    throw ShapeError("[Dim::set] need a dimension below " + std::to_string(nd) + "; got " +
                     std::to_string(i));
  }
  d[i] = size;
  check();
}

void Dim::add_dim(unsigned size) { insert_dim(nd, size); }

void Dim::insert_dim(unsigned i, unsigned size) {
  if (i > nd) {
    throw ShapeError("[Dim::insert_dim] need a position up to " + std::to_string(nd) + "; got " +
                     std::to_string(i));
  }
  resize(nd + 1);
  std::copy_backward(d + i, d + nd - 1, d + nd);
  d[i] = size;
  check();
}

void Dim::delete_dim(unsigned i) {
  if (i >= nd) {
    throw ShapeError("[Dim::delete_dim] need a dimension below " + std::to_string(nd) + "; got " +
                     std::to_string(i));
  }
  if (nd == 1) {
    d[0] = 1;
    return;
  }
  std::copy(d + i + 1, d + nd, d + i);
  resize(nd - 1);
}

void Dim::delete_dims(std::vector<unsigned> dimensions, bool reduce_batch) {
  std::sort(dimensions.begin(), dimensions.end());
  dimensions.erase(std::unique(dimensions.begin(), dimensions.end()), dimensions.end());
  for (auto i = dimensions.rbegin(); i != dimensions.rend(); ++i) delete_dim(*i);
  if (reduce_batch) bd = 1;
}

void Dim::print_profile(std::ostream& out) const { out << single_batch(); }

bool operator==(const Dim& a, const Dim& b) {
  return a.nd == b.nd && a.bd == b.bd && std::equal(a.d, a.d + a.nd, b.d);
}

std::ostream& operator<<(std::ostream& out, const Dim& dim) { return out << to_string(dim); }

std::ostream& operator<<(std::ostream& out, const std::vector<Dim>& dims) {
  out << '[';
  for (std::size_t i = 0; i < dims.size(); ++i) out << (i == 0 ? "" : " ") << dims[i];
  return out << ']';
}

std::istream& operator>>(std::istream& in, Dim& dim) {
  Dim result;
  char mark = 0;
  if (!(in >> mark) || mark != '{') {
    in.setstate(std::ios::failbit);
    return in;
  }
  if ((in >> std::ws).peek() == '}') {
    in.get();
    dim = result;
    return in;
  }
  for (bool batch = false;;) {
    unsigned size = 0;
    if (in.peek() == '-' || !(in >> size) || (!batch && result.nd == Dim::kMaxDimensions)) break;
    if (batch) {
      result.bd = size;
    } else {
      result.d[result.nd++] = size;
    }
    if (!(in >> mark)) break;
    if (mark == '}') {
      try {
        dim = Dim(std::vector<long>(result.d, result.d + result.nd), result.bd);
        return in;
      } catch (const ShapeError&) {
        break;
      }
    }
    if (batch || (mark != ',' && mark != 'X')) break;
    batch = mark == 'X';
  }
  in.setstate(std::ios::failbit);
  return in;
}

// Uses no stream, which would silently cut the text if memory runs out.
std::string to_string(const Dim& dim) {
  std::string text = "{";
  for (unsigned i = 0; i < dim.nd; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", dim.d[i]);
  if (dim.bd != 1) text += fmt::format("X{}", dim.bd);
  return text + '}';
}

}  // namespace dynet_like
