// The CPU's passes over parameters, row by row where a table is given.
#include <algorithm>

#include "dynet_like/device/updates.h"

namespace dynet_like {

namespace {

std::byte* advance(void* pointer, std::size_t bytes) {
  return static_cast<std::byte*>(pointer) + bytes;
}

// update(values, moments, gradient, n) for all elements, or for one row after the other.
template <class Update>
void for_rows(const Elements& e, const Update& update) {
  if (e.row_count == 0) return update(e.values, e.moments, e.gradient, e.count);
  const std::size_t bytes = e.count * size_of(e.dtype);
  for (std::size_t i = 0; i < e.row_count; ++i) {
    const std::size_t row = e.rows != nullptr ? e.rows[i] : i;
    const std::size_t slot = e.rows != nullptr ? i + 1 : e.slots != nullptr ? e.slots[i] : 0;
    void* moments[Elements::kMaxMoments] = {};
    for (std::size_t m = 0; m < Elements::kMaxMoments; ++m) {
      if (e.moments[m] != nullptr) moments[m] = advance(e.moments[m], row * bytes);
    }
    const void* gradient =
        slot == 0 ? nullptr : static_cast<const std::byte*>(e.gradient) + (slot - 1) * bytes;
    update(advance(e.values, row * bytes), moments, gradient, e.count);
  }
}

class CpuUpdates final : public Updates {
 public:
  void descend(const Elements& e, double rate, double scale) const override {
    for_rows(e, [&](void* w, void* const*, const void* g, std::size_t n) {
      updates::descend(e.dtype, w, g, n, rate, scale);
    });
  }
  void descend_with_momentum(const Elements& e, double momentum, double rate,
                             double scale) const override {
    for_rows(e, [&](void* w, void* const* m, const void* g, std::size_t n) {
      updates::descend_with_momentum(e.dtype, w, m[0], g, n, momentum, rate, scale);
    });
  }
  void adam(const Elements& e, const AdamConstants& constants, double rate,
            double scale) const override {
    for_rows(e, [&](void* w, void* const* m, const void* g, std::size_t n) {
      updates::adam(e.dtype, w, m[0], m[1], g, n, constants, rate, scale);
    });
  }
  void amsgrad(const Elements& e, const AdamConstants& constants, double rate,
               double scale) const override {
    for_rows(e, [&](void* w, void* const* m, const void* g, std::size_t n) {
      updates::amsgrad(e.dtype, w, m[0], m[1], m[2], g, n, constants, rate, scale);
    });
  }
  void adagrad(const Elements& e, double epsilon, double rate, double scale) const override {
    for_rows(e, [&](void* w, void* const* m, const void* g, std::size_t n) {
      updates::adagrad(e.dtype, w, m[0], g, n, epsilon, rate, scale);
    });
  }
  void rmsprop(const Elements& e, double rho, double epsilon, double rate,
               double scale) const override {
    for_rows(e, [&](void* w, void* const* m, const void* g, std::size_t n) {
      updates::rmsprop(e.dtype, w, m[0], g, n, rho, epsilon, rate, scale);
    });
  }
  void adadelta(const Elements& e, double rho, double epsilon, double rate,
                double scale) const override {
    for_rows(e, [&](void* w, void* const* m, const void* g, std::size_t n) {
      updates::adadelta(e.dtype, w, m[0], m[1], g, n, rho, epsilon, rate, scale);
    });
  }
  void exponentiate(const Elements& e, double momentum, double rate, double scale) const override {
    for_rows(e, [&](void* w, void* const* m, const void* g, std::size_t n) {
      updates::exponentiate(e.dtype, w, m[0], g, n, momentum, rate, scale);
    });
  }
  void scale(const Elements& e, std::span<const double> factors) const override {
    for_rows(e, [&](void* w, void* const*, const void*, std::size_t n) {
      updates::scale(e.dtype, w, n, factors);
    });
  }
  void average(DType dtype, void* mean, const void* x, std::size_t n, double share) const override {
    updates::average(dtype, mean, x, n, share);
  }
  void add(DType dtype, void* to, const void* from, std::size_t n) const override {
    dtype == DType::f32 ? add_elements<float>(to, from, n) : add_elements<double>(to, from, n);
  }
  bool all_finite(DType dtype, std::span<const Stretch> stretches) const override {
    return std::all_of(stretches.begin(), stretches.end(), [&](const Stretch& stretch) {
      return updates::all_finite(dtype, stretch.begin, stretch.count);
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

}  // namespace dynet_like
