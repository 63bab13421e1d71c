// Checks gradients, and says where they are not finite.
#include "dynet_like/train/update_check.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::detail {

namespace {

constexpr const char* kFiniteMoments = "moments of their squares stay finite";

struct Fault {
  std::size_t at;
  double value;
};

// The first element whose size is not below the limit.
std::optional<Fault> find_fault(double limit, const ParameterStorage& storage,
                                const Stretch& stretch) {
  const std::size_t bytes = stretch.count * size_of(storage.dtype);
  const Block copy(bytes);
  storage.device().read(copy.data(), stretch.begin, bytes);
  const Tensor numbers(Dim({static_cast<unsigned>(stretch.count)}), storage.dtype, copy.data());
  for (std::size_t i = 0; i < stretch.count; ++i) {
    if (!(std::abs(numbers.at(i)) < limit)) return Fault{i, numbers.at(i)};
  }
  return {};
}

// `rows`: for a table, the rows that the gradients are of.
[[noreturn]] void refuse(double limit, const ParameterStorage& storage, const Fault& fault,
                         const std::uint32_t* rows, const char* reason) {
  std::string place = fmt::to_string(fault.at);
  if (rows != nullptr) {
    const std::size_t entry = storage.entry_size();
    place = fmt::format("{} of row {}", fault.at % entry, rows[fault.at / entry]);
  }
  if (std::isfinite(fault.value)) {
    throw NumericError(
        fmt::format("[Trainer] need gradients below {:.3g}, so that {}; got {:.6g} for \"{}\", "
                    "element {}: clip them, or scale the loss down",
                    limit, reason, fault.value, storage.name, place));
  }
  throw NumericError(fmt::format("[Trainer] need finite gradients; got {} for \"{}\", element {}",
                                 fault.value, storage.name, place));
}

[[noreturn]] void refuse_norm(double norm) {
  throw NumericError(fmt::format("[Trainer] need a finite norm of the gradients; got {}", norm));
}

// Checks all gradients in one pass, and looks for the place only if one fails. Throws NumericError
// unless the sizes of all are below the limit, which may be infinity.
void need_below(double limit, const Gradients& gradients, UpdateCheck::Storages storages,
                const char* reason = kFiniteMoments) {
  if (storages.empty()) return;
  std::vector<Stretch> all;
  for (const auto& storage : storages) {
    for (const Stretch& stretch : gradients.stretches(*storage)) all.push_back(stretch);
  }
  const ParameterStorage& any = *storages.front();
  if (any.device().updates().all_below(any.dtype, all, limit)) return;
  for (const auto& storage : storages) {
    for (const Stretch& stretch : gradients.stretches(*storage)) {
      const auto fault = find_fault(limit, *storage, stretch);
      if (!fault) continue;
      const Gradients::Rows* const rows =
          storage->is_table ? gradients.find_rows(*storage) : nullptr;
      refuse(limit, *storage, *fault, rows == nullptr ? nullptr : rows->rows.data(), reason);
    }
  }
}

}  // namespace

// If gradients are below this, the means of their squares are finite, however they are rounded.
double UpdateCheck::moment_limit() const { return dtype_ == DType::f32 ? 0x1p63 : 0x1p511; }

// Gradients must be below this before they are clipped.
double UpdateCheck::limit(double clip_threshold) const {
  const double limit = moment_limit();
  const bool clips = clip_threshold > 0 && clip_threshold < limit;
  return rule_.squares_gradients() && !clips ? limit : std::numeric_limits<double>::infinity();
}

void UpdateCheck::refuse_unusable(const Gradients& gradients, Storages storages,
                                  double clip_threshold, unsigned summands) const {
  need_below(limit(clip_threshold), gradients, storages);
  if (summands <= 1) return;
  const double largest = dtype_ == DType::f32
                             ? static_cast<double>(std::numeric_limits<float>::max())
                             : std::numeric_limits<double>::max();
  const double limit = rule_.squares_gradients() ? moment_limit() : largest;
  const std::string reason = fmt::format("{} of them can be added up", summands);
  need_below(limit / (summands + 1.0), gradients, storages, reason.c_str());  // + 1 for rounding
}

double UpdateCheck::begin(const Gradients& gradients, Storages storages, double clip_threshold,
                          std::optional<double> own_norm) {
  device_decides_ =
      !own_norm && rule_.runs_on_device() && ask_device(gradients, storages, clip_threshold);
  if (device_decides_) return 1;
  const bool clips = clip_threshold > 0;
  const double norm = !clips ? 0 : own_norm ? *own_norm : gradients.norm(storages);
  const double limit = this->limit(clip_threshold);
  // If the norm is finite, so are all gradients.
  if (!clips || !std::isfinite(norm) || std::isfinite(limit)) {
    need_below(limit, gradients, storages);
  }
  if (!std::isfinite(norm)) refuse_norm(norm);
  const double factor = clips && norm > clip_threshold ? clip_threshold / norm : 1;
  is_clipped_ = factor != 1;
  return factor;
}

// Returns false if no device checks gradients while it updates.
bool UpdateCheck::ask_device(const Gradients& gradients, Storages storages, double clip_threshold) {
  if (storages.empty()) return false;
  const ParameterStorage& any = *storages.front();
  const Updates& updates = any.device().updates();
  if (device_check_ == nullptr) device_check_ = updates.make_gradient_check();
  if (device_check_ == nullptr) return false;
  std::vector<Stretch> all;
  checked_.clear();
  rows_.clear();
  for (const auto& storage : storages) {
    const Gradients::Rows* const rows = gradients.find_rows(*storage);
    for (const Stretch& stretch : gradients.stretches(*storage)) {
      all.push_back(stretch);
      const bool is_of_rows = rows != nullptr && stretch.begin == rows->values.data();
      checked_.push_back({storage, stretch.count, rows_.size(), is_of_rows});
      if (is_of_rows) rows_.insert(rows_.end(), rows->rows.begin(), rows->rows.end());
    }
  }
  limit_ = limit(clip_threshold);
  device_check_->begin(any.dtype, all, limit_, clip_threshold);
  return true;
}

bool UpdateCheck::finish() {
  if (!device_decides_) return is_clipped_;
  const GradientCheck::Result result = device_check_->wait();
  if (!std::isnan(result.factor)) return result.factor != 1;
  std::size_t at = result.fault_at;
  for (const Checked& checked : checked_) {
    if (result.has_fault && at < checked.count) {
      refuse(limit_, *checked.storage, {at, result.fault},
             checked.is_of_rows ? rows_.data() + checked.first_row : nullptr, kFiniteMoments);
    }
    at -= checked.count;
  }
  refuse_norm(result.norm);
}

}  // namespace dynet_like::detail
