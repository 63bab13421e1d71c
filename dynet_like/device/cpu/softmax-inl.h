// The common parts of all kinds of softmax: the layout of vectors, and their maxima and sums.
//
// A vector of many classes is read along the lanes. Vectors of few classes stand side by side, one
// per lane: their elements are gathered, and nothing is summed across lanes. The choice depends on
// the shape alone, and a vector's arithmetic is the same in every lane.
//
// Included once per target, after hwy/foreach_target.h; the include guard is per target.

#if defined(DYNET_LIKE_SOFTMAX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_SOFTMAX_INL
#undef DYNET_LIKE_SOFTMAX_INL
#else
#define DYNET_LIKE_SOFTMAX_INL
#endif

#include <algorithm>

#include "dynet_like/device/cpu/math-inl.h"
#include "dynet_like/device/cpu/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// The maximum, and the sum of e^(x - maximum). Its terms go to `terms` unless that is null.
template <class E, class Largest = Maximum>
struct Total {
  Lanes<E> top, sum;

  template <class Along>
  HWY_INLINE Total(const Along& along, const E* x, E* terms) {
    const auto load_x = [&]<class T>(std::size_t at, std::size_t count)
                            DYNET_LIKE_BODY { return load_as<T>(x + at, count); };
    top = along.template reduce<Largest>(load_x);
    const auto term = [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      const T result = exp_of_negative(load_as<T>(x + at, count) - T(top));
      if (terms != nullptr) store(result, terms + at, count);
      return result;
    };
    sum = along.template reduce<Sum>(term);
  }
};

// Vectors of up to this many classes are gathered, so that they stand side by side.
template <class E>
inline constexpr std::size_t few_classes = Lanes<E>::size;

enum class Layout { rows, columns, gathered };
template <class E>
HWY_INLINE Layout layout_of(const Axis& axis) {
  if (axis.inner == 1 && axis.n > few_classes<E>) return Layout::rows;
  return axis.inner > Lanes<E>::size / 2 ? Layout::columns : Layout::gathered;
}

// A vector of an item: the first of its numbers, and of other numbers that belong to them; where
// its results go, and whether they are added there.
template <class E>
struct Vector {
  const E* from[2] = {};
  E* to = nullptr;
  bool add = false;
};

// Vectors of n elements with stride `stride`, gathered side by side in a buffer: one per lane.
template <class E>
struct Gathered {
  static constexpr std::size_t size = Lanes<E>::size;
  std::size_t n, stride;

  Columns<E> columns() const { return {n, size, size}; }
  // Gathers the numbers that `from_of(lane)` points to. Lanes without a vector are set to zero.
  template <class FromOf>
  HWY_INLINE void gather(std::size_t count, E* to, const FromOf& from_of) const {
    for (std::size_t k = 0; count < size && k < n; ++k) Lanes<E>(0).store(to + k * size);
    for (std::size_t lane = 0; lane < count; ++lane) {
      const E* const from = from_of(lane);
      for (std::size_t k = 0; k < n; ++k) to[k * size + lane] = from[k * stride];
    }
  }
  HWY_INLINE void gather(const Vector<E>* vectors, int side, std::size_t count, E* to) const {
    gather(count, to, [&](std::size_t lane) { return vectors[lane].from[side]; });
  }
  HWY_INLINE void scatter(const E* from, const Vector<E>* vectors, std::size_t count) const {
    for (std::size_t lane = 0; lane < count; ++lane) {
      const Vector<E>& vector = vectors[lane];
      for (std::size_t k = 0; k < n; ++k) {
        put(from[k * size + lane], vector.to + k * stride, vector.add);
      }
    }
  }
};

// Calls run(vectors, count) for as many vectors as there are lanes, and for the last ones.
template <class E, class Run>
class LaneGroups {
 public:
  explicit LaneGroups(const Run& run) : run_(run) {}
  HWY_INLINE void add(const Vector<E>& vector) {
    vectors_[count_++] = vector;
    if (count_ == Lanes<E>::size) finish();
  }
  HWY_INLINE void finish() {
    if (count_ > 0) run_(vectors_, count_);
    count_ = 0;
  }

 private:
  const Run& run_;
  Vector<E> vectors_[Lanes<E>::size];
  std::size_t count_ = 0;
};

// Calls f(start, line) for every vector of an item, where `start` is the index of its first element
// and `line` its number.
template <class F>
HWY_INLINE void for_vectors(const Axis& axis, F&& f) {
  for (std::size_t o = 0; o < axis.outer; ++o) {
    for (std::size_t i = 0; i < axis.inner; ++i) {
      f(o * axis.inner * axis.n + i, o * axis.inner + i);
    }
  }
}
// Calls f(along, start, line) for the vectors of an item that are not gathered: one row, or as many
// columns as there are lanes.
template <class E, class F>
HWY_INLINE void for_vectors_in_place(const Axis& axis, Layout layout, F&& f) {
  for (std::size_t o = 0; o < axis.outer; ++o) {
    const std::size_t start = o * axis.n * axis.inner, line = o * axis.inner;
    if (layout == Layout::rows) {
      f(Row<E>{axis.n}, start, line);
      continue;
    }
    for (std::size_t i = 0; i < axis.inner; i += Lanes<E>::size) {
      const std::size_t count = std::min(Lanes<E>::size, axis.inner - i);
      f(Columns<E>{axis.n, axis.inner, count}, start + i, line + i);
    }
  }
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
