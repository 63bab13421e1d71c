// Allocations that can be told to fail: operator_new.cpp takes memory from here.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like::failing {

/// Which allocations fail: number `first`, counted from 1, and all after it or only that one.
enum class Mode { once, from_then_on };

struct Faults {
  std::atomic<bool> armed = false;
  std::atomic<std::size_t> count = 0;
  std::size_t first = 0;
  Mode mode = Mode::once;

  bool next_fails() {
    if (!armed.load(std::memory_order_relaxed)) return false;
    const std::size_t number = ++count;
    return number == first || (mode == Mode::from_then_on && number > first);
  }
};

inline Faults faults;

inline void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (faults.next_fails()) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
}

inline void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* memory = allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

/// What came of one run with a failing allocation.
struct Outcome {
  bool fired = false;  ///< there were as many allocations
  bool threw = false;
};

/// Runs the action while allocation `first` fails. Only errors that speak of memory or files may
/// come out of it.
template <class Action>
Outcome run_failing(std::size_t first, Mode mode, const Action& action) {
  Outcome outcome;
  std::string nonsense;
  faults.first = first;
  faults.mode = mode;
  faults.count = 0;
  faults.armed = true;
  try {
    action();
  } catch (const std::bad_alloc&) {
    outcome.threw = true;
  } catch (const DeviceError&) {
    outcome.threw = true;
  } catch (const FileError&) {
    outcome.threw = true;
  } catch (const std::exception& error) {
    faults.armed = false;
    nonsense = error.what();
  }
  faults.armed = false;
  EXPECT_EQ(nonsense, "") << "allocation " << first;
  outcome.fired = faults.count >= first;
  return outcome;
}

/// The allocation that fails next. All of them take minutes: the first ones fail, and then one of
/// up to 13, with sanitizers of 41.
inline std::size_t next_failing(std::size_t allocation) {
  if (kSlowBuild) return allocation + std::min<std::size_t>(41, 3 + allocation / 2);
  return allocation + (is_thorough() ? 1 : std::min<std::size_t>(13, 1 + allocation / 16));
}

/// For the allocations of `exercise`: makes a world, lets that allocation fail, alone or with all
/// that follow, and lets `check` see whether the world is as good as new. Returns how many
/// allocations there are, at least.
template <class MakeWorld, class Exercise, class Check>
std::size_t fail_allocations(const MakeWorld& make_world, const Exercise& exercise,
                             const Check& check) {
  std::size_t allocations = 0;
  for (const Mode mode : {Mode::from_then_on, Mode::once}) {
    SCOPED_TRACE(mode == Mode::once ? "once" : "from then on");
    Outcome outcome{.fired = true};
    for (std::size_t first = 1; outcome.fired; first = next_failing(first)) {
      SCOPED_TRACE(first);
      auto world = make_world();
      outcome = run_failing(first, mode, [&] { exercise(*world); });
      check(*world, outcome);
      if (::testing::Test::HasFailure()) return allocations;
      if (outcome.fired) allocations = first;
    }
  }
  return allocations;
}

/// Expects that `run(world)` gives the same after any of its allocations has failed.
template <class MakeWorld, class Run>
void expect_as_good_as_new(const MakeWorld& make_world, const Run& run) {
  const auto expected = run(*make_world());
  const std::size_t allocations = fail_allocations(
      make_world, [&](auto& world) { run(world); },
      [&](auto& world, const Outcome&) { EXPECT_EQ(run(world), expected); });
  EXPECT_GT(allocations, 50u);
}

}  // namespace dynet_like::failing
