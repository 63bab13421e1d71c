// Values in this process and on a device, and the detection of changes.
#include "dynet_like/params/parameter_values.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "dynet_like/device/cpu/digest.h"
#include "dynet_like/device/packed_matrices.h"

namespace dynet_like::detail {

void ParameterValues::allocate(Device& device, std::size_t size, bool is_watched) {
  packed = std::make_shared<PackedMatrices>();
  memory_ = Block(size, device.memory());
  device_ = &device;
  is_watched_ = is_watched;
}

void ParameterValues::move_to_shared_memory() {
  Block shared = Block::shared(size());
  std::copy_n(data(), size(), shared.data());
  memory_ = std::move(shared);
}

std::byte* ParameterValues::on_host() const {
  if (is_on_cpu()) return data();
  // Several threads may be the first to read. A copy that arrives must not overwrite one in use.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (!copy_is_good_) read();
  return copy_.data();
}

std::byte* ParameterValues::on_host_to_fill() {
  if (is_on_cpu()) return data();
  if (copy_.size() == 0) copy_ = Block(size());
  copy_is_good_ = true;
  return copy_.data();
}

void ParameterValues::read() const {
  if (copy_.size() == 0) copy_ = Block(size());
  device_->read(copy_.data(), data(), size());
  copy_is_good_ = true;
}

void ParameterValues::write(std::size_t first, std::size_t count) const {
  device_->write(data() + first, copy_.data() + first, count);
  if (handed_out_) copy_digest_ = digest();
}

void ParameterValues::host_written(std::size_t first, std::size_t count) {
  ++version_;
  if (is_on_cpu()) return;
  // A holder of the memory may have written to other places, too.
  handed_out_ ? write(0, size()) : write(first, count);
}

void ParameterValues::device_written() {
  ++version_;
  if (is_on_cpu()) return;
  copy_is_good_ = false;
  if (!handed_out_) return;
  read();  // holders of the memory see the new values
  copy_digest_ = digest();
}

// The version stays the same: as on the CPU, nobody has reported a change.
void ParameterValues::take_writes() const {
  if (!is_on_cpu() && handed_out_ && digest() != copy_digest_) write(0, size());
}

void ParameterValues::hand_out() {
  on_host();
  if (!handed_out_ && !is_on_cpu()) copy_digest_ = digest();
  if (!handed_out_ && is_watched_) first_digest_ = digest();
  handed_out_ = true;
  expose();
}

void ParameterValues::expose() {
  ++chances_;
  ++version_;
}

ParameterValues::Snapshot ParameterValues::snapshot() const {
  const bool has_digest = handed_out_ && is_watched_;
  return {version_, version_ - chances_, has_digest, has_digest ? digest() : 0};
}

bool ParameterValues::differ(const Snapshot& seen) const {
  if (version_ - chances_ != seen.changes) return true;
  if (!handed_out_ || !is_watched_) return false;
  return digest() != (seen.has_digest ? seen.digest : first_digest_);
}

std::uint64_t ParameterValues::digest() const { return detail::digest(on_host(), size()); }

}  // namespace dynet_like::detail
