// Passes over parameters and their gradients: many ranges in one launch. Every operation is
// rounded, as on the CPU, and the order of sums depends on sizes alone.
#include <cmath>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "dynet_like/device/cuda/cuda_device.h"
#include "dynet_like/device/cuda/pieces.h"
#include "dynet_like/device/cuda/teams.h"
#include "dynet_like/ops/elementwise.h"

namespace dynet_like::detail::cuda {

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

constexpr unsigned kBlock = 256;
// Elements of a block, in passes without sums and in sums.
constexpr std::size_t kPerBlock = 4 * kBlock, kPerSum = 16 * kBlock;

// The result of a check of gradients, in device memory, for the passes that depend on it.
struct Verdict {
  double factor;  ///< of the gradients; NaN: nothing may be changed
  double sum;
  std::uint64_t fault_at;  ///< index, by blocks, of the first fault; or kNoFault
  double fault;
};
constexpr std::uint64_t kNoFault = ~std::uint64_t{0};

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
  for (std::size_t i = begin + threadIdx.x; i < size && i < begin + kPerBlock; i += kBlock) f(i);
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

// ------------------------------------------------------------------------------ checks of
// gradients

struct Least {
  __device__ std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
    return a < b ? a : b;
  }
};

struct Square {
  __device__ double operator()(double x) const { return x * x; }
};

struct Nothing {
  __device__ double operator()(double) const { return 0; }
};

template <class T, class Term>
__global__ void sum_blocks(Pieces<Stretch> pieces, Term term, double limit, double* sums,
                           std::uint64_t* faults) {
  const Piece<Stretch>& piece = piece_of_block(pieces, blockIdx.x);
  const T* const x = static_cast<const T*>(piece.thing.begin);
  const std::size_t begin = (blockIdx.x - piece.begin) * kPerSum;
  double sum = 0;
  std::uint64_t fault = kNoFault;
  for (std::size_t i = begin + threadIdx.x; i < piece.thing.count && i < begin + kPerSum;
       i += kBlock) {
    const double number = static_cast<double>(x[i]);
    sum = sum + term(number);
    const bool is_below = std::fabs(number) < limit;
    if (!is_below && fault == kNoFault) fault = blockIdx.x * kPerSum + (i - begin);
  }
  sum = Team<kBlock>().combine(sum, Plus());
  fault = Team<kBlock>().combine(fault, Least());
  if (threadIdx.x != 0) return;
  sums[blockIdx.x] = sum;
  faults[blockIdx.x] = fault;
}

// The factor for gradients whose squares have this sum; 1 if there is no threshold.
__device__ double factor_for(double sum, double threshold, bool has_fault) {
  const bool is_finite = sum * 0 == 0;
  if (!is_finite || has_fault) return std::numeric_limits<double>::quiet_NaN();
  const double norm = std::sqrt(sum);
  return threshold > 0 && norm > threshold ? threshold / norm : 1;
}

template <class T>
__global__ void decide(Pieces<Stretch> pieces, const double* sums, const std::uint64_t* faults,
                       double threshold, Verdict* verdict) {
  wait_for_earlier();
  double sum = 0;
  std::uint64_t fault = kNoFault;
  for (std::size_t i = threadIdx.x; i < pieces.blocks; i += kBlock) {
    sum = sum + sums[i];
    fault = Least()(fault, faults[i]);
  }
  sum = Team<kBlock>().combine(sum, Plus());
  fault = Team<kBlock>().combine(fault, Least());
  if (threadIdx.x != 0) return;
  double number = 0;
  if (fault != kNoFault) {
    const std::size_t block = fault / kPerSum;
    const Piece<Stretch>& piece = piece_of_block(pieces, block);
    const std::size_t at = (block - piece.begin) * kPerSum + fault % kPerSum;
    number = static_cast<double>(static_cast<const T*>(piece.thing.begin)[at]);
  }
  *verdict = {factor_for(sum, threshold, fault != kNoFault), sum, fault, number};
}

std::size_t blocks_of(const Stretch& stretch) { return count_blocks(stretch.count, kPerSum); }

// Returns false if there are no numbers.
template <class Term>
bool launch_sum(Commands& commands, DType dtype, std::span<const Stretch> stretches, Term term,
                double limit, double threshold, Verdict* verdict) {
  const auto pieces = stage_pieces(commands, stretches, blocks_of);
  if (pieces.blocks == 0) return false;
  auto* const sums = commands.template elements<double>(pieces.blocks);
  auto* const faults = commands.template elements<std::uint64_t>(pieces.blocks);
  const Shape blocks = early({pieces.blocks, 1, 1, kBlock}), block = early({1, 1, 1, kBlock});
  with_type(dtype, [&]<class T>(T) {
    commands.launch_cooperating(blocks, sum_blocks<T, Term>, pieces, term, limit, sums, faults);
    commands.launch_cooperating(block, decide<T>, pieces, sums, faults, threshold, verdict);
  });
  return true;
}

class CudaGradientCheck final : public GradientCheck {
 public:
  explicit CudaGradientCheck(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)), reading_(make_reading(shared_)) {
    const Lock lock(shared_->mutex);
    verdict_ = static_cast<Verdict*>(shared_->runtime.allocate(sizeof(Verdict)));
  }
  ~CudaGradientCheck() override {
    const Lock lock(shared_->mutex);
    try {
      shared_->commands.submit();  // waiting commands may write there
    } catch (...) {                // the next call will report the same error
    }
    shared_->runtime.free(verdict_);
  }

  void begin(DType dtype, std::span<const Stretch> stretches, double limit,
             double threshold) override {
    const Lock lock(shared_->mutex);
    has_norm_ = threshold > 0;
    blocks_.clear();
    for (const Stretch& stretch : stretches) blocks_.push_back(blocks_of(stretch));
    counts_.clear();
    for (const Stretch& stretch : stretches) counts_.push_back(stretch.count);
    Commands& commands = shared_->commands;
    is_empty_ = has_norm_
                    ? !launch_sum(commands, dtype, stretches, Square(), limit, threshold, verdict_)
                    : !launch_sum(commands, dtype, stretches, Nothing(), limit, 0, verdict_);
    if (!is_empty_) reading_->begin(verdict_, sizeof(Verdict));
  }
  Result wait() override {
    if (is_empty_) return {};
    const auto& verdict = *reinterpret_cast<const Verdict*>(reading_->wait());
    Result result;
    result.factor = verdict.factor;
    if (has_norm_) result.norm = std::sqrt(verdict.sum);
    result.has_fault = verdict.fault_at != kNoFault;
    if (!result.has_fault) return result;
    result.fault = verdict.fault;
    std::size_t block = verdict.fault_at / kPerSum, stretch = 0;
    for (; block >= blocks_[stretch]; ++stretch) {
      block -= blocks_[stretch];
      result.fault_at += counts_[stretch];
    }
    result.fault_at += block * kPerSum + verdict.fault_at % kPerSum;
    return result;
  }
  const Verdict* verdict() const { return is_empty_ ? nullptr : verdict_; }

 private:
  const std::shared_ptr<Shared> shared_;
  const std::unique_ptr<Reading> reading_;
  Verdict* verdict_ = nullptr;
  std::vector<std::size_t> blocks_, counts_;  // of stretches
  bool has_norm_ = false, is_empty_ = true;
};

// ------------------------------------------------------------------------------------------
// updates

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
    return wait_for_verdict(dtype, stretches, Nothing(), limit).fault_at == kNoFault;
  }
  double sum_of_squares(DType dtype, std::span<const Stretch> stretches) const override {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return wait_for_verdict(dtype, stretches, Square(), kInfinity).sum;
  }
  std::unique_ptr<GradientCheck> make_gradient_check() const override {
    return std::make_unique<CudaGradientCheck>(shared_);
  }

  void together(const std::function<void()>& passes, const GradientCheck* check) const override {
    const Lock lock(shared_->mutex);
    struct Depending {
      const Verdict*& verdict;
      ~Depending() { verdict = nullptr; }
    };
    const Depending depending{verdict_};
    if (check != nullptr) verdict_ = static_cast<const CudaGradientCheck&>(*check).verdict();
    commands().together(passes);
  }

 private:
  static Shape shape(unsigned blocks) { return early({blocks, 1, 1, kBlock}); }
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

  template <class Term>
  Verdict wait_for_verdict(DType dtype, std::span<const Stretch> stretches, Term term,
                           double limit) const {
    const Lock lock(shared_->mutex);
    auto* const verdict = commands().template elements<Verdict>(1);
    Verdict here = {1, 0, kNoFault, 0};
    if (!launch_sum(commands(), dtype, stretches, term, limit, 0, verdict)) return here;
    commands().submit();
    shared_->runtime.copy_to_host(&here, verdict, sizeof(here));
    shared_->runtime.wait();
    return here;
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
  mutable const Verdict* verdict_ = nullptr;  // the check that passes depend on; set under the lock
};

}  // namespace

std::unique_ptr<Updates> make_updates(std::shared_ptr<Shared> shared) {
  return std::make_unique<CudaUpdates>(std::move(shared));
}

}  // namespace dynet_like::detail::cuda
