// The emulator, and the functions that kernels call while they run.
#include "dynet_like/device/cuda/host/emulator.h"

#include <string>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::detail::cuda::host {

namespace {

// The block that runs on this thread of the process, if its threads cooperate.
thread_local CooperatingBlock* running_block __attribute__((tls_model("initial-exec"))) = nullptr;

// The steps of the launch that runs on it, and how many threads have come to the present one.
struct Steps {
  bool may_meet = false;
  unsigned now = 0, count = 1;
  std::uint64_t threads = 0;
};
thread_local Steps steps;

CooperatingBlock& cooperating(Place place) {
  if (running_block != nullptr) return *running_block;
  throw DeviceError(std::string("[cuda-host] need launch_cooperating for a kernel whose threads "
                                "wait for each other or share memory; got launch at ") +
                    place.file + ":" + std::to_string(place.line));
}

}  // namespace

void check_shape(const Shape& shape) {
  const std::uint64_t threads = std::uint64_t{shape.threads_x} * shape.threads_y;
  const bool is_good = shape.blocks_x > 0 && shape.blocks_x <= 0x7fffffff && shape.blocks_y > 0 &&
                       shape.blocks_y <= 0xffff && shape.blocks_z > 0 && shape.blocks_z <= 0xffff &&
                       threads > 0 && threads <= 1024;
  if (is_good) return;
  const auto join = [](unsigned a, unsigned b) {
    return std::to_string(a) + ", " + std::to_string(b);
  };
  throw DeviceError(
      "[cuda-host] need at least one block, at most 2^31 - 1, 65535 and 65535 of them, and 1 to "
      "1024 threads; got blocks (" +
      join(shape.blocks_x, shape.blocks_y) + ", " + std::to_string(shape.blocks_z) +
      ") of threads (" + join(shape.threads_x, shape.threads_y) + ")");
}

unsigned begin_step(unsigned count) {
  if (count > 1 && !steps.may_meet) {
    throw DeviceError(
        "[cuda-host] need a launch whose blocks may wait for each other; got several steps");
  }
  if (steps.threads++ == 0 && steps.now == 0) steps.count = count;
  if (count == steps.count) return steps.now;
  throw DeviceError("[cuda-host] need as many steps in all threads of a launch; got " +
                    std::to_string(steps.count) + " and " + std::to_string(count));
}

void barrier(Place place) { cooperating(place).barrier(place); }
void warp_barrier(Place place, unsigned mask) {
  cooperating(place).exchange(place, mask, 0, 32, true);
}
std::uint64_t exchange(Place place, unsigned mask, std::uint64_t bits, unsigned from) {
  return cooperating(place).exchange(place, mask, bits, from, false);
}
void note_wait() {
  if (Races* const races = Races::running(); races != nullptr) races->note_wait();
}
void* shared_memory(Place place, const void* id, std::size_t size) {
  return cooperating(place).shared_memory(place, id, size);
}

void Emulator::execute(const Shape& shape, Threads threads, const Kernel& kernel) {
  const unsigned count = shape.threads_x * shape.threads_y;
  const std::uint64_t blocks = std::uint64_t{shape.blocks_x} * shape.blocks_y * shape.blocks_z;
  position.block_size = {shape.threads_x, shape.threads_y, 1};
  position.grid_size = {shape.blocks_x, shape.blocks_y, shape.blocks_z};
  struct Running {
    Running(CooperatingBlock* block, Races* races) {
      running_block = block;
      Races::running() = races;
    }
    ~Running() {
      running_block = nullptr;
      Races::running() = nullptr;
    }
  };
  // Looking for races in every launch would make long training programs three times as slow.
  const std::uint64_t before = launches_[kernel.code]++;
  const bool looks_for_races = before < 16 || before % 64 == 0;
  const bool looks = looks_for_races || before < 256 || before % 8 == 0;
  const Running running(threads == Threads::cooperating ? &block_ : nullptr,
                        looks ? &races_ : nullptr);
  steps = {shape.meets};
  do {
    races_.begin_launch(looks_for_races, shape.waits);
    steps.threads = 0;
    run_blocks(shape, threads, kernel);
    races_.check(kernel.name);
    const bool has_steps = steps.threads > 0 || steps.count > 1;
    if (!has_steps || steps.threads == blocks * count) continue;
    throw DeviceError("[cuda-host] need all " + counted(blocks * count, "thread") +
                      " of a launch in each step; got " + std::to_string(steps.threads));
  } while (++steps.now < steps.count);
}

void Emulator::run_blocks(const Shape& shape, Threads threads, const Kernel& kernel) {
  const unsigned count = shape.threads_x * shape.threads_y;
  std::uint32_t number = 0;
  Index& block = position.block;
  for (block.z = 0; block.z < shape.blocks_z; ++block.z) {
    for (block.y = 0; block.y < shape.blocks_y; ++block.y) {
      for (block.x = 0; block.x < shape.blocks_x; ++block.x) {
        races_.moment.block = number++;
        if (threads == Threads::cooperating) {
          block_.run(count, kernel);
          continue;
        }
        position.thread = {};
        for (unsigned t = 0; t < count; ++t) {
          races_.moment.thread = static_cast<std::uint16_t>(t);
          kernel.run(kernel.kernel);
          if (++position.thread.x == shape.threads_x) position.thread = {0, position.thread.y + 1};
        }
      }
    }
  }
}

}  // namespace dynet_like::detail::cuda::host
