// The CPU's passes over parameters, row by row where a table is given.
#include <algorithm>
#include <array>

#include "dynet_like/device/updates.h"

namespace dynet_like::detail {

namespace {

std::byte* advance(void* pointer, std::size_t bytes) {
  return static_cast<std::byte*>(pointer) + bytes;
}

// update(values, moments, gradient, n) for all elements, or for one row after the other, and the
// factor that keeps a part of the values.
template <class Update>
void for_rows(const Elements& e, double keep, const Update& update) {
  const std::size_t bytes = e.row_count == 0 ? 0 : e.count * size_of(e.dtype);
  for (std::size_t i = 0; i < std::max<std::size_t>(e.row_count, 1); ++i) {
    const std::size_t row = e.rows != nullptr ? e.rows[i] : i;
    const std::size_t slot = e.rows != nullptr ? i + 1 : e.slots != nullptr ? e.slots[i] : 0;
    const bool has_gradient = e.row_count == 0 ? e.gradient != nullptr : slot != 0;
    void* const values = advance(e.values, row * bytes);
    if (has_gradient || !e.only_kept) {
      void* moments[Elements::kMaxMoments] = {};
      for (std::size_t m = 0; m < Elements::kMaxMoments; ++m) {
        if (e.moments[m] != nullptr) moments[m] = advance(e.moments[m], row * bytes);
      }
      const auto* gradient = static_cast<const std::byte*>(e.gradient);
      if (slot != 0) gradient += (slot - 1) * bytes;
      update(values, moments, has_gradient ? gradient : nullptr, e.count);
    }
    if (keep != 1) updates::scale(e.dtype, values, e.count, std::span(&keep, 1));
  }
}

// A gradient of zeros, read piece by piece.
constexpr std::size_t kZeroBytes = 2048;
alignas(64) constexpr std::array<std::byte, kZeroBytes> kZeros = {};

// The same for a formula that takes every element by itself.
template <class Update>
void for_pieces(std::span<const Elements> all, double keep, const Update& update) {
  for (const Elements& e : all) {
    for_rows(e, keep, [&](void* values, void* const* moments, const void* gradient, std::size_t n) {
      if (gradient != nullptr) return update(e.dtype, values, moments, gradient, n);
      const std::size_t element = size_of(e.dtype), piece = kZeroBytes / element;
      for (std::size_t i = 0; i < n; i += piece) {
        void* there[Elements::kMaxMoments] = {};
        for (std::size_t m = 0; m < Elements::kMaxMoments; ++m) {
          if (moments[m] != nullptr) there[m] = advance(moments[m], i * element);
        }
        update(e.dtype, advance(values, i * element), there, kZeros.data(), std::min(piece, n - i));
      }
    });
  }
}

class CpuUpdates final : public Updates {
 public:
  void descend(std::span<const Elements> all, Step step) const override {
    for_pieces(all, step.keep,
               [&](DType dtype, void* w, void* const*, const void* g, std::size_t n) {
                 updates::descend(dtype, w, g, n, step.rate, step.scale);
               });
  }
  void descend_with_momentum(std::span<const Elements> all, double momentum,
                             Step step) const override {
    for_pieces(
        all, step.keep, [&](DType dtype, void* w, void* const* m, const void* g, std::size_t n) {
          updates::descend_with_momentum(dtype, w, m[0], g, n, momentum, step.rate, step.scale);
        });
  }
  void adam(std::span<const Elements> all, const AdamConstants& constants,
            Step step) const override {
    for_pieces(all, step.keep,
               [&](DType dtype, void* w, void* const* m, const void* g, std::size_t n) {
                 updates::adam(dtype, w, m[0], m[1], g, n, constants, step.rate, step.scale);
               });
  }
  void amsgrad(std::span<const Elements> all, const AdamConstants& constants,
               Step step) const override {
    for_pieces(
        all, step.keep, [&](DType dtype, void* w, void* const* m, const void* g, std::size_t n) {
          updates::amsgrad(dtype, w, m[0], m[1], m[2], g, n, constants, step.rate, step.scale);
        });
  }
  void adagrad(std::span<const Elements> all, double epsilon, Step step) const override {
    for_pieces(all, step.keep,
               [&](DType dtype, void* w, void* const* m, const void* g, std::size_t n) {
                 updates::adagrad(dtype, w, m[0], g, n, epsilon, step.rate, step.scale);
               });
  }
  void rmsprop(std::span<const Elements> all, double rho, double epsilon,
               Step step) const override {
    for_pieces(all, step.keep,
               [&](DType dtype, void* w, void* const* m, const void* g, std::size_t n) {
                 updates::rmsprop(dtype, w, m[0], g, n, rho, epsilon, step.rate, step.scale);
               });
  }
  void adadelta(std::span<const Elements> all, double rho, double epsilon,
                Step step) const override {
    for_pieces(all, step.keep,
               [&](DType dtype, void* w, void* const* m, const void* g, std::size_t n) {
                 updates::adadelta(dtype, w, m[0], m[1], g, n, rho, epsilon, step.rate, step.scale);
               });
  }
  void scale(const Elements& e, std::span<const double> factors) const override {
    Elements all = e;
    all.only_kept = false;
    for_rows(all, 1, [&](void* w, void* const*, const void*, std::size_t n) {
      updates::scale(e.dtype, w, n, factors);
    });
  }
  void average(DType dtype, std::span<const Pair> pairs) const override {
    for (const Pair& pair : pairs) {
      updates::average(dtype, pair.to, pair.from, pair.count, pair.share);
    }
  }
  void add(DType dtype, std::span<const Pair> pairs) const override {
    for (const Pair& pair : pairs) {
      dtype == DType::f32 ? add_elements<float>(pair.to, pair.from, pair.count)
                          : add_elements<double>(pair.to, pair.from, pair.count);
    }
  }
  bool all_below(DType dtype, std::span<const Stretch> stretches, double limit) const override {
    return std::all_of(stretches.begin(), stretches.end(), [&](const Stretch& stretch) {
      return updates::all_below(dtype, stretch.begin, stretch.count, limit);
    });
  }
  double sum_of_squares(DType dtype, std::span<const Stretch> stretches) const override {
    double sum = 0;
    for (const Stretch& stretch : stretches) {
      sum += updates::sum_of_squares(dtype, stretch.begin, stretch.count);
    }
    return sum;
  }

 private:
  template <class T>
  static void add_elements(void* to, const void* from, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      static_cast<T*>(to)[i] = static_cast<T*>(to)[i] + static_cast<const T*>(from)[i];
    }
  }
};

}  // namespace

const Updates& cpu_updates() {
  static const CpuUpdates updates;
  return updates;
}

}  // namespace dynet_like::detail
