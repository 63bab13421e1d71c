// Passes over parameters and their gradients: many stretches in one launch. Every number is rounded
// after every operation, as on the CPU, and sums have an order that depends on sizes alone.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dynet_like/device/cuda/gradient_checks.h"

namespace dynet_like::detail::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kPerBlock = 4 * kThreads;  // elements, where each is by itself

std::size_t rows_of(const Elements& e) { return std::max<std::size_t>(e.row_count, 1); }

/// The gradient of row i of those in question, and which row of the table it is.
struct Row {
  std::size_t index;
  const void* gradient;
};

template <class T>
__device__ Row find_row(const Elements& e, std::size_t i) {
  if (e.row_count == 0) return {0, e.gradient};
  std::size_t slot = 0;
  if (e.rows != nullptr)
    slot = i + 1;
  else if (e.slots != nullptr)
    slot = e.slots[i];
  const T* const gradient = static_cast<const T*>(e.gradient);
  return {e.rows != nullptr ? e.rows[i] : i, slot == 0 ? nullptr : gradient + (slot - 1) * e.count};
}

/// The moments of one element.
template <class T>
struct Moments {
  const Elements& elements;
  std::size_t at;

  __device__ T& operator[](unsigned i) const { return static_cast<T*>(elements.moments[i])[at]; }
};

// The formulas: the new value of an element, from its value and h, its gradient times the scale.
template <class T>
struct Descend {
  T rate;
  __device__ T operator()(T w, T h, const Moments<T>&) const { return w - rate * h; }
};

template <class T>
struct DescendWithMomentum {
  T momentum, rate;
  __device__ T operator()(T w, T h, const Moments<T>& m) const {
    return w - (m[0] = momentum * m[0] + rate * h);
  }
};

template <class T>
struct Adam {
  T b1, b2, epsilon, rate;
  __device__ T operator()(T w, T h, const Moments<T>& m) const {
    const T mean = m[0] = b1 * m[0] + (1 - b1) * h;
    const T square = m[1] = b2 * m[1] + (1 - b2) * (h * h);
    return w - rate * mean / (sqrt(square) + epsilon);
  }
};

template <class T>
struct Amsgrad {
  T b1, b2, epsilon, rate;
  __device__ T operator()(T w, T h, const Moments<T>& m) const {
    const T mean = m[0] = b1 * m[0] + (1 - b1) * h;
    const T square = m[1] = b2 * m[1] + (1 - b2) * (h * h);
    const T largest = m[2] = fmax(m[2], square);
    return w - rate * mean / (sqrt(largest) + epsilon);
  }
};

template <class T>
struct Adagrad {
  T epsilon, rate, largest = std::numeric_limits<T>::max();
  __device__ T operator()(T w, T h, const Moments<T>& m) const {
    const T sum = m[0] = fmin(m[0] + h * h, largest);
    return w - rate * h / sqrt(sum + epsilon);
  }
};

template <class T>
struct RmsProp {
  T rho, epsilon, rate;
  __device__ T operator()(T w, T h, const Moments<T>& m) const {
    const T square = m[0] = rho * m[0] + (1 - rho) * (h * h);
    return w - rate * h / sqrt(square + epsilon);
  }
};

template <class T>
struct Adadelta {
  T rho, epsilon, rate;
  __device__ T operator()(T w, T h, const Moments<T>& m) const {
    const T square = m[0] = rho * m[0] + (1 - rho) * (h * h);
    const T change = m[1];
    const T step = h * sqrt(change + epsilon) / sqrt(square + epsilon);
    m[1] = rho * change + (1 - rho) * (step * step);
    return w - rate * step;
  }
};

template <class T, class Formula>
__global__ void update_elements(Pieces<Elements> pieces, Formula formula, T scale, T keep,
                                const Verdict* verdict) {
  wait_for_earlier();
  if (verdict != nullptr) {
    if (verdict->factor != verdict->factor) return;
    scale = scale * static_cast<T>(verdict->factor);
  }
  const Piece<Elements>& piece = piece_of_block(pieces, blockIdx.x);
  const Elements& e = piece.thing;
  const std::size_t size = e.row_count == 0 ? e.count : e.count * e.row_count;
  const std::size_t begin = (blockIdx.x - piece.first_block) * kPerBlock;
  for (std::size_t i = begin + threadIdx.x; i < size && i < begin + kPerBlock; i += kThreads) {
    const std::size_t in_row = i % e.count;
    const Row row = find_row<T>(e, i / e.count);
    const std::size_t at = row.index * e.count + in_row;
    T* const to = static_cast<T*>(e.values) + at;
    T value = *to;
    if (row.gradient != nullptr || !e.only_kept) {
      const T* const gradient = static_cast<const T*>(row.gradient);
      const T h = gradient == nullptr ? T(0) : scale * gradient[in_row];
      value = formula(value, h, Moments<T>{e, at});
    }
    *to = keep == 1 ? value : value * keep;
  }
}

template <class T>
__global__ void scale_elements(Pieces<Elements> pieces, const double* factors, std::size_t count) {
  const Piece<Elements>& piece = piece_of_block(pieces, blockIdx.x);
  const Elements& e = piece.thing;
  const std::size_t size = e.row_count == 0 ? e.count : e.count * e.row_count;
  const std::size_t begin = (blockIdx.x - piece.first_block) * kPerBlock;
  for (std::size_t i = begin + threadIdx.x; i < size && i < begin + kPerBlock; i += kThreads) {
    T* const to = static_cast<T*>(e.values) + find_row<T>(e, i / e.count).index * e.count;
    T value = to[i % e.count];
    for (std::size_t f = 0; f < count; ++f) value = value * static_cast<T>(factors[f]);
    to[i % e.count] = value;
  }
}

template <class T>
struct TowardsMean {
  __device__ T operator()(T mean, T x, double share) const {
    // The difference of two infinities would be NaN.
    return mean + static_cast<T>(share) * (std::isinf(mean) ? x : x - mean);
  }
};

template <class T>
struct Add {
  __device__ T operator()(T to, T from, double) const { return to + from; }
};

template <class T, class Formula>
__global__ void combine_pairs(Pieces<Pair> pieces, Formula formula, const Verdict* verdict) {
  wait_for_earlier();
  if (verdict != nullptr && verdict->factor != verdict->factor) return;
  const Piece<Pair>& piece = piece_of_block(pieces, blockIdx.x);
  const Pair& pair = piece.thing;
  const std::size_t begin = (blockIdx.x - piece.first_block) * kPerBlock;
  for (std::size_t i = begin + threadIdx.x; i < pair.count && i < begin + kPerBlock;
       i += kThreads) {
    T& to = static_cast<T*>(pair.to)[i];
    to = formula(to, static_cast<const T*>(pair.from)[i], pair.share);
  }
}

class CudaUpdates final : public Updates {
 public:
  explicit CudaUpdates(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  void descend(std::span<const Elements> all, Step step) const override {
    update(all, step, [&]<class T>(T rate) { return Descend<T>{rate}; });
  }
  void descend_with_momentum(std::span<const Elements> all, double momentum,
                             Step step) const override {
    update(all, step, [&]<class T>(T rate) {
      return DescendWithMomentum<T>{static_cast<T>(momentum), rate};
    });
  }
  void adam(std::span<const Elements> all, const AdamConstants& constants,
            Step step) const override {
    update(all, step, [&]<class T>(T rate) {
      return Adam<T>{static_cast<T>(constants.beta_1), static_cast<T>(constants.beta_2),
                     static_cast<T>(constants.epsilon), rate};
    });
  }
  void amsgrad(std::span<const Elements> all, const AdamConstants& constants,
               Step step) const override {
    update(all, step, [&]<class T>(T rate) {
      return Amsgrad<T>{static_cast<T>(constants.beta_1), static_cast<T>(constants.beta_2),
                        static_cast<T>(constants.epsilon), rate};
    });
  }
  void adagrad(std::span<const Elements> all, double epsilon, Step step) const override {
    update(all, step, [&]<class T>(T rate) { return Adagrad<T>{static_cast<T>(epsilon), rate}; });
  }
  void rmsprop(std::span<const Elements> all, double rho, double epsilon,
               Step step) const override {
    update(all, step, [&]<class T>(T rate) {
      return RmsProp<T>{static_cast<T>(rho), static_cast<T>(epsilon), rate};
    });
  }
  void adadelta(std::span<const Elements> all, double rho, double epsilon,
                Step step) const override {
    update(all, step, [&]<class T>(T rate) {
      return Adadelta<T>{static_cast<T>(rho), static_cast<T>(epsilon), rate};
    });
  }

  void scale(const Elements& e, std::span<const double> factors) const override {
    const Lock lock(shared_->mutex);
    const Pieces<Elements> pieces = stage_elements(std::span(&e, 1), blocks_of_elements);
    if (pieces.blocks == 0) return;
    const double* const there = commands().stage(factors.data(), factors.size());
    with_type(e.dtype, [&]<class T>(T) {
      commands().launch(shape(pieces.blocks), scale_elements<T>, pieces, there, factors.size());
    });
  }
  void average(DType dtype, std::span<const Pair> pairs) const override {
    with_type(dtype, [&]<class T>(T) { combine<T>(pairs, TowardsMean<T>()); });
  }
  void add(DType dtype, std::span<const Pair> pairs) const override {
    with_type(dtype, [&]<class T>(T) { combine<T>(pairs, Add<T>()); });
  }
  bool all_below(DType dtype, std::span<const Stretch> stretches, double limit) const override {
    return sums_.all_below(dtype, stretches, limit);
  }
  double sum_of_squares(DType dtype, std::span<const Stretch> stretches) const override {
    return sums_.sum_of_squares(dtype, stretches);
  }
  std::unique_ptr<GradientCheck> make_gradient_check() const override {
    return cuda::make_gradient_check(shared_);
  }

  void together(const std::function<void()>& passes, const GradientCheck* check) const override {
    const Lock lock(shared_->mutex);
    struct Depending {
      const Verdict*& verdict;
      ~Depending() { verdict = nullptr; }
    };
    const Depending depending{verdict_};
    if (check != nullptr) verdict_ = verdict_of(*check);
    commands().together(passes);
  }

 private:
  using Lock = std::lock_guard<std::recursive_mutex>;

  static Shape shape(unsigned blocks) { return early({blocks, 1, 1, kThreads}); }
  static std::size_t blocks_of_elements(const Elements& e) {
    return count_blocks(e.count * rows_of(e), kPerBlock);
  }
  Commands& commands() const { return shared_->commands; }

  template <class BlocksOf>
  Pieces<Elements> stage_elements(std::span<const Elements> all, const BlocksOf& blocks_of) const {
    std::vector<Elements> there(all.begin(), all.end());
    for (Elements& e : there) {
      if (e.rows != nullptr) e.rows = commands().stage(e.rows, e.row_count);
      if (e.slots != nullptr) e.slots = commands().stage(e.slots, e.row_count);
    }
    return stage_pieces<Elements>(commands(), there, blocks_of);
  }

  // formula_of(rate) makes the formula.
  template <class FormulaOf>
  void update(std::span<const Elements> all, Step step, const FormulaOf& formula_of) const {
    const Lock lock(shared_->mutex);
    const Pieces<Elements> pieces = stage_elements(all, blocks_of_elements);
    if (pieces.blocks == 0) return;
    with_type(all.front().dtype, [&]<class T>(T) {
      const auto formula = formula_of(static_cast<T>(step.rate));
      commands().launch(shape(pieces.blocks), update_elements<T, decltype(formula_of(T()))>, pieces,
                        formula, step.scale, step.keep, verdict_);
    });
  }

  template <class T, class Formula>
  void combine(std::span<const Pair> pairs, Formula formula) const {
    const Lock lock(shared_->mutex);
    const auto pieces = stage_pieces(
        commands(), pairs, [](const Pair& pair) { return count_blocks(pair.count, kPerBlock); });
    if (pieces.blocks == 0) return;
    commands().launch(shape(pieces.blocks), combine_pairs<T, Formula>, pieces, formula, verdict_);
  }

  const std::shared_ptr<Shared> shared_;
  const GradientSums sums_{shared_};
  mutable const Verdict* verdict_ = nullptr;  // on which passes depend; set under the lock
};

}  // namespace

std::unique_ptr<Updates> make_updates(std::shared_ptr<Shared> shared) {
  return std::make_unique<CudaUpdates>(std::move(shared));
}

}  // namespace dynet_like::detail::cuda
