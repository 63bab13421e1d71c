// What tests ask of the stand-in for CUDA's driver, and let it do.
#pragma once

#include <cstdint>
#include <string>

namespace dynet_like::detail::cuda::host {

/// What was done wrong and no call has reported yet: by a function whose result nobody reads, or by
/// work that ran late. Empty if nothing was; forgotten then.
std::string take_fault();

/// Lets the call that comes after `calls` others fail, and no other: it does nothing and says so.
void fail_call(std::uint64_t calls);
/// Whether that call has come. No call fails after this.
bool stop_failing();

/// How many devices there are: 1, unless a test wants more.
void set_device_count(int count);
/// Whether cuBLAS can be found.
void hide_cublas(bool hidden);

/// Streams, events, handles of cuBLAS and pinned blocks that were not given back.
std::uint64_t live_objects();
/// Work that was queued and has not run.
std::uint64_t queued_work();

}  // namespace dynet_like::detail::cuda::host
