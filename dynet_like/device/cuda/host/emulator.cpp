// Blocks one after the other; in each, all threads until the next place where they wait.
#include "dynet_like/device/cuda/host/emulator.h"

#include <boost/context/fiber.hpp>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

namespace dynet_like::cuda::host {

namespace {

namespace ctx = boost::context;

struct Thread {
  Position position;
  ctx::fiber fiber;
  ctx::fiber scheduler;
  std::uint64_t offered = 0;
  unsigned mask = 0;
};

struct Block {
  std::vector<Thread> threads;
  std::map<const void*, std::unique_ptr<std::byte[]>> shared;
};

thread_local Block* running_block = nullptr;
thread_local Thread* running_thread = nullptr;

unsigned index_in_block(const Position& at) { return at.thread.y * at.block_size.x + at.thread.x; }

void park() {
  Thread& self = *running_thread;
  self.scheduler = std::move(self.scheduler).resume();
}

void run_block(const Position& at, unsigned count, void (*run)(const void*), const void* kernel) {
  Block block;
  block.threads.resize(count);
  running_block = &block;
  for (unsigned t = 0; t < count; ++t) {
    Thread& thread = block.threads[t];
    thread.position = at;
    thread.position.thread = {t % at.block_size.x, t / at.block_size.x, 0};
    thread.fiber = ctx::fiber([&thread, run, kernel](ctx::fiber&& scheduler) {
      thread.scheduler = std::move(scheduler);
      run(kernel);
      return std::move(thread.scheduler);
    });
  }
  for (bool any = true; any;) {
    any = false;
    for (Thread& thread : block.threads) {
      if (!thread.fiber) continue;
      any = true;
      position = thread.position;
      running_thread = &thread;
      thread.fiber = std::move(thread.fiber).resume();
    }
  }
}

}  // namespace

void barrier(const char*, int) { park(); }
void warp_barrier(unsigned) { park(); }
unsigned lane() { return index_in_block(position) % 32; }

void* shared_memory(const void* id, std::size_t size) {
  auto& memory = running_block->shared[id];
  if (memory == nullptr) memory = std::make_unique<std::byte[]>(size);
  return memory.get();
}

std::uint64_t exchange(unsigned, std::uint64_t bits, unsigned from) {
  Thread& self = *running_thread;
  const unsigned warp = index_in_block(position) / 32 * 32;
  self.offered = bits;
  park();
  const unsigned source = warp + from % 32;
  const std::uint64_t result = from < 32 && source < running_block->threads.size()
                                   ? running_block->threads[source].offered
                                   : bits;
  park();
  return result;
}

void execute(const Shape& shape, Threads threads, void (*run)(const void*), const void* kernel) {
  const unsigned count = shape.threads_x * shape.threads_y;
  Position at;
  at.block_size = {shape.threads_x, shape.threads_y, 1};
  at.grid_size = {shape.blocks_x, shape.blocks_y, shape.blocks_z};
  for (at.block.z = 0; at.block.z < shape.blocks_z; ++at.block.z) {
    for (at.block.y = 0; at.block.y < shape.blocks_y; ++at.block.y) {
      for (at.block.x = 0; at.block.x < shape.blocks_x; ++at.block.x) {
        if (threads == Threads::cooperating) {
          run_block(at, count, run, kernel);
          continue;
        }
        Block block;
        running_block = &block;
        position = at;
        for (unsigned t = 0; t < count; ++t) {
          position.thread = {t % shape.threads_x, t / shape.threads_x, 0};
          run(kernel);
        }
      }
    }
  }
}

}  // namespace dynet_like::cuda::host
