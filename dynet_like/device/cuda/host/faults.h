// Controls of the stand-in for CUDA's driver, for tests.
#pragma once

#include <cstdint>
#include <string>

namespace dynet_like::detail::cuda::host {

/// Returns, and clears, the text of a fault that no call has reported yet: of a function whose
/// result nobody reads, or of work that ran late. Empty if there is none.
std::string take_fault();

/// Makes one call fail, after `calls` other calls: it does nothing and returns an error.
void fail_call(std::uint64_t calls);
/// Whether that call was reached. No call fails after this.
bool stop_failing();

/// Sets the number of devices; the default is 1.
void set_device_count(int count);
/// Whether queued work may run at any time, instead of as late as possible.
void work_at_random(bool wanted);
/// Whether cuBLAS appears not to be installed.
void hide_cublas(bool hidden);
/// Whether devices that are opened from now on support launches whose blocks wait for each other.
void let_blocks_meet(bool may);

/// The number of streams, events, cuBLAS handles and pinned blocks that were not given back.
std::uint64_t live_objects();
/// The number of queued pieces of work that have not run.
std::uint64_t queued_work();

}  // namespace dynet_like::detail::cuda::host
