// Checks of gradients, and where they were not finite.
#include "dynet_like/train/update_check.h"

#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::detail {

namespace {

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

// `rows`: those that gradients are of, for a table.
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

}  // namespace

// All in one pass; what is wrong is looked for only then.
void UpdateCheck::need_below(double limit, const Gradients& gradients, Storages storages,
                             const char* reason) {
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

bool UpdateCheck::begin(double limit, const Gradients& gradients, Storages storages,
                        double clip_threshold) {
  if (storages.empty()) return false;
  const ParameterStorage& any = *storages.front();
  const Updates& updates = any.device().updates();
  if (check_ == nullptr) check_ = updates.make_gradient_check();
  if (check_ == nullptr) return false;
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
  limit_ = limit;
  check_->begin(any.dtype, all, limit, clip_threshold);
  return true;
}

bool UpdateCheck::finish() {
  const GradientCheck::Result result = check_->wait();
  if (!std::isnan(result.factor)) return result.factor != 1;
  std::size_t at = result.fault_at;
  for (const Checked& checked : checked_) {
    if (result.has_fault && at < checked.count) {
      refuse(limit_, *checked.storage, {at, result.fault},
             checked.is_of_rows ? rows_.data() + checked.first_row : nullptr, kFiniteMoments);
    }
    at -= checked.count;
  }
  throw NumericError(
      fmt::format("[Trainer] need a finite norm of the gradients; got {}", result.norm));
}

}  // namespace dynet_like::detail
