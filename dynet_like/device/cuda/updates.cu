// Passes over parameters and their gradients: many ranges in one launch. Every operation is
// rounded, as on the CPU, and the order of sums depends on sizes alone.
#include <limits>
#include <variant>
#include <vector>

#include "dynet_like/device/cuda/gradient_checks.h"
#include "dynet_like/ops/elementwise.h"

namespace dynet_like::detail::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kPerBlock = 4 * kThreads;  // elements, in passes without sums

// The formulas over plain numbers.
using formulas::abs, formulas::max, formulas::min, formulas::select, formulas::sqrt;
template <class T>
DYNET_LIKE_HOST_DEVICE T largest_number() {
  return std::numeric_limits<T>::max();
}
#define LANE DYNET_LIKE_HOST_DEVICE
#include "dynet_like/device/update_formulas.h"
#undef LANE

/// Calls f(i) for the elements of a block, out of `size` elements of the piece.
template <class Thing, class F>
__device__ void for_elements(const Piece<Thing>& piece, std::size_t size, const F& f) {
  const std::size_t begin = (blockIdx.x - piece.begin) * kPerBlock;
  for (std::size_t i = begin + threadIdx.x; i < size && i < begin + kPerBlock; i += kThreads) f(i);
}

template <class Kind, class T>
__global__ void update_elements(Pieces<Elements> pieces, UpdateNumbers<T> numbers, T scale, T keep,
                                const Verdict* verdict) {
  constexpr int kMoments = Kind::moments.size();
  wait_for_earlier();
  if (verdict != nullptr) {
    if (verdict->factor != verdict->factor) return;
    scale = scale * static_cast<T>(verdict->factor);
  }
  const Piece<Elements>& piece = piece_of_block(pieces, blockIdx.x);
  const Elements& e = piece.thing;
  for_elements(piece, e.count * e.places(), [&](std::size_t i) {
    const std::size_t in_row = i % e.count;
    const auto row = e.row<T>(i / e.count);
    const std::size_t at = row.first + in_row;
    T* const to = static_cast<T*>(e.values) + at;
    T value = *to;
    if (row.gradient != nullptr || !e.only_kept) {
      T m[Elements::kMaxMoments];
      for (int k = 0; k < kMoments; ++k) m[k] = static_cast<T*>(e.moments[k])[at];
      const T h = row.gradient == nullptr ? T(0) : scale * row.gradient[in_row];
      value = updated(Kind(), numbers, value, h, m);
      for (int k = 0; k < kMoments; ++k) static_cast<T*>(e.moments[k])[at] = m[k];
    }
    *to = keep == 1 ? value : value * keep;
  });
}

template <class T>
__global__ void scale_elements(Pieces<Elements> pieces, const double* factors, std::size_t count) {
  const Piece<Elements>& piece = piece_of_block(pieces, blockIdx.x);
  const Elements& e = piece.thing;
  for_elements(piece, e.count * e.places(), [&](std::size_t i) {
    T& to = static_cast<T*>(e.values)[e.row<T>(i / e.count).first + i % e.count];
    T value = to;
    for (std::size_t f = 0; f < count; ++f) value = value * static_cast<T>(factors[f]);
    to = value;
  });
}

template <class Formula, class T>
__global__ void combine_pairs(Pieces<Pair> pieces, const Verdict* verdict) {
  wait_for_earlier();
  if (verdict != nullptr && verdict->factor != verdict->factor) return;
  const Piece<Pair>& piece = piece_of_block(pieces, blockIdx.x);
  const Pair& pair = piece.thing;
  for_elements(piece, pair.count, [&](std::size_t i) {
    T& to = static_cast<T*>(pair.to)[i];
    to = Formula::value(to, static_cast<const T*>(pair.from)[i], static_cast<T>(pair.share));
  });
}

class CudaUpdates final : public Updates {
 public:
  explicit CudaUpdates(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  void apply(const UpdateFormula& formula, std::span<const Elements> all,
             Step step) const override {
    const Lock lock(shared_->mutex);
    const Pieces<Elements> pieces = stage_elements(all);
    if (pieces.blocks == 0) return;
    const auto launch = [&]<class Kind, class T>(Kind, T) {
      commands().launch(shape(pieces.blocks), update_elements<Kind, T>, pieces,
                        numbers_of<T>(step.rate, formula), step.scale, step.keep, verdict_);
    };
    const DType dtype = all.front().dtype;
    std::visit([&](auto kind) { with_type(dtype, [&](auto type) { launch(kind, type); }); },
               formula.kind);
  }
  void scale(const Elements& e, std::span<const double> factors) const override {
    const Lock lock(shared_->mutex);
    const Pieces<Elements> pieces = stage_elements(std::span(&e, 1));
    if (pieces.blocks == 0) return;
    const double* const there = commands().stage(factors.data(), factors.size());
    with_type(e.dtype, [&]<class T>(T) {
      commands().launch(shape(pieces.blocks), scale_elements<T>, pieces, there, factors.size());
    });
  }
  void average(DType dtype, std::span<const Pair> pairs) const override {
    combine<TowardsMean>(dtype, pairs);
  }
  void add(DType dtype, std::span<const Pair> pairs) const override {
    combine<AddTo>(dtype, pairs);
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
  Commands& commands() const { return shared_->commands; }

  Pieces<Elements> stage_elements(std::span<const Elements> all) const {
    std::vector<Elements> there(all.begin(), all.end());
    for (Elements& e : there) {
      if (e.rows != nullptr) e.rows = commands().stage(e.rows, e.row_count);
      if (e.slots != nullptr) e.slots = commands().stage(e.slots, e.row_count);
    }
    return stage_pieces<Elements>(commands(), there, [](const Elements& e) {
      return count_blocks(e.count * e.places(), kPerBlock);
    });
  }

  template <class Formula>
  void combine(DType dtype, std::span<const Pair> pairs) const {
    const Lock lock(shared_->mutex);
    const auto pieces = stage_pieces(
        commands(), pairs, [](const Pair& pair) { return count_blocks(pair.count, kPerBlock); });
    if (pieces.blocks == 0) return;
    with_type(dtype, [&]<class T>(T) {
      commands().launch(shape(pieces.blocks), combine_pairs<Formula, T>, pieces, verdict_);
    });
  }

  const std::shared_ptr<Shared> shared_;
  const GradientSums sums_{shared_};
  mutable const Verdict* verdict_ = nullptr;  // the check that passes depend on; set under the lock
};

}  // namespace

std::unique_ptr<Updates> make_updates(std::shared_ptr<Shared> shared) {
  return std::make_unique<CudaUpdates>(std::move(shared));
}

}  // namespace dynet_like::detail::cuda
