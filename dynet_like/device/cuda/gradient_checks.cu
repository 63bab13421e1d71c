// Sums over gradients, in an order that depends on sizes alone; and the first number whose absolute
// value is not below a limit.
#include "dynet_like/device/cuda/gradient_checks.h"

#include <cmath>
#include <limits>
#include <utility>

#include "dynet_like/device/cuda/teams.h"

namespace dynet_like::detail::cuda {

namespace {

constexpr unsigned kBlock = 256;
constexpr std::size_t kPerBlock = 16 * kBlock;  // numbers
constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
  const std::size_t begin = (blockIdx.x - piece.begin) * kPerBlock;
  double sum = 0;
  std::uint64_t fault = kNoFault;
  for (std::size_t i = begin + threadIdx.x; i < piece.thing.count && i < begin + kPerBlock;
       i += kBlock) {
    const double number = static_cast<double>(x[i]);
    sum = sum + term(number);
    const bool is_below = std::fabs(number) < limit;
    if (!is_below && fault == kNoFault) fault = blockIdx.x * kPerBlock + (i - begin);
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
    const std::size_t block = fault / kPerBlock;
    const Piece<Stretch>& piece = piece_of_block(pieces, block);
    const std::size_t at = (block - piece.begin) * kPerBlock + fault % kPerBlock;
    number = static_cast<double>(static_cast<const T*>(piece.thing.begin)[at]);
  }
  *verdict = {factor_for(sum, threshold, fault != kNoFault), sum, fault, number};
}

std::size_t blocks_of(const Stretch& stretch) { return count_blocks(stretch.count, kPerBlock); }

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

using Lock = std::lock_guard<std::recursive_mutex>;

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
    std::size_t block = verdict.fault_at / kPerBlock, stretch = 0;
    for (; block >= blocks_[stretch]; ++stretch) {
      block -= blocks_[stretch];
      result.fault_at += counts_[stretch];
    }
    result.fault_at += block * kPerBlock + verdict.fault_at % kPerBlock;
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

}  // namespace

template <class Term>
Verdict GradientSums::wait_for_verdict(DType dtype, std::span<const Stretch> stretches, Term term,
                                       double limit) const {
  const Lock lock(shared_->mutex);
  Commands& commands = shared_->commands;
  auto* const verdict = commands.template elements<Verdict>(1);
  Verdict here = {1, 0, kNoFault, 0};
  if (!launch_sum(commands, dtype, stretches, term, limit, 0, verdict)) return here;
  commands.submit();
  shared_->runtime.copy_to_host(&here, verdict, sizeof(here));
  shared_->runtime.wait();
  return here;
}

bool GradientSums::all_below(DType dtype, std::span<const Stretch> stretches, double limit) const {
  return wait_for_verdict(dtype, stretches, Nothing(), limit).fault_at == kNoFault;
}
double GradientSums::sum_of_squares(DType dtype, std::span<const Stretch> stretches) const {
  return wait_for_verdict(dtype, stretches, Square(), kInfinity).sum;
}

std::unique_ptr<GradientCheck> make_gradient_check(std::shared_ptr<Shared> shared) {
  return std::make_unique<CudaGradientCheck>(std::move(shared));
}

const Verdict* verdict_of(const GradientCheck& check) {
  return static_cast<const CudaGradientCheck&>(check).verdict();
}

}  // namespace dynet_like::detail::cuda
