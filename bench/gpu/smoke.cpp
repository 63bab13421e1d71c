// The first program to run on a GPU: every feature that the library needs, once.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>

#include "bench/gpu/access.h"
#include "bench/support/program.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/dynet_like.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::bench;
namespace cuda = dynet_like::detail::cuda;
using gpu::Access, gpu::Product;
using Clock = std::chrono::steady_clock;

constexpr const char* kHelp =
    "Tests what the library needs of a GPU, in seconds: a kernel with the right result, products\n"
    "against numbers of the CPU and against cuBLAS, copies from and to pinned memory, events, and\n"
    "two steps of training. Prints a line per check with milliseconds. If a check fails, the\n"
    "program ends with status 1. Without libcublas.so.13 the check against cuBLAS is skipped:\n"
    "training does not need it.";

void need(bool is_true, const std::string& what) {
  if (!is_true) throw DeviceError("need " + what);
}

// Numbers that agree except for the order of additions.
void need_close(const std::vector<float>& got, const std::vector<double>& wanted,
                const std::string& what) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    need(std::abs(double{got[i]} - wanted[i]) < 1e-4,
         fmt::format("{} of element {} of {}; got {}", wanted[i], i, what, got[i]));
  }
}

std::string check_kernel(Access& access) {
  constexpr std::size_t kSize = 1000;
  std::vector<float> numbers(kSize);
  for (std::size_t i = 0; i < kSize; ++i) numbers[i] = static_cast<float>(i);
  float *const from = access.put(numbers), *const to = access.put(numbers);
  // Adds the same numbers three times to what is there.
  const std::vector<const void*> addends(3, from);
  access.queue().add_all(DType::f32, to, kSize, {addends.data(), nullptr, addends.size()});
  const std::vector<float> got = access.get(to, kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    need(got[i] == 4 * numbers[i], fmt::format("{}; got {}", 4 * numbers[i], got[i]));
  }
  return "1000 numbers";
}

constexpr std::size_t kRows = 80, kInner = 70, kColumns = 33;

std::string check_products(Access& access) {
  Product product(access, kRows, kInner, kColumns);
  const std::vector<float> w = access.get(product.w, kRows * kInner);
  const std::vector<float> x = access.get(product.x, kInner * kColumns);
  product.ask(Product::forward, false);
  std::vector<double> wanted(kRows * kColumns);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t row = i % kRows, column = i / kRows;
    for (std::size_t k = 0; k < kInner; ++k) {
      wanted[i] += double{w[k * kRows + row]} * double{x[column * kInner + k]};
    }
  }
  need_close(access.get(product.result(Product::forward), wanted.size()), wanted, "W x");
  return fmt::format("{} x {} times {} columns", kRows, kInner, kColumns);
}

std::string check_cublas(Access& access) {
  try {
    access.runtime().open_products();
  } catch (const DeviceError& error) {
    if (std::strstr(error.what(), "need libcublas") == nullptr) throw;
    return fmt::format("skipped: {}", error.what());
  }
  Product product(access, kRows, kInner, kColumns);
  const char* const names[] = {"W x", "W' dy", "dy x'"};
  for (const Product::Kind kind : {Product::forward, Product::gradient, Product::outer}) {
    std::vector<float> results[2];
    for (const bool by_cublas : {false, true}) {
      product.ask(kind, by_cublas);
      results[by_cublas ? 1 : 0] = access.get(product.result(kind), product.result_size(kind));
    }
    need_close(results[0], {results[1].begin(), results[1].end()}, names[kind]);
  }
  return "W x, W' dy and dy x' agree";
}

std::string check_copies(Access& access) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  cuda::Runtime& runtime = access.runtime();
  const std::unique_ptr<void, std::function<void(void*)>> pinned(
      runtime.allocate_pinned(2 * kBytes), [&](void* memory) { runtime.free_pinned(memory); });
  auto *const from = static_cast<unsigned char*>(pinned.get()), *const to = from + kBytes;
  for (std::size_t i = 0; i < kBytes; ++i) from[i] = static_cast<unsigned char>(i * 7 % 251);
  void* const there = access.make(kBytes);
  runtime.copy_to_device(there, from, kBytes);
  runtime.copy_to_host(to, there, kBytes);
  runtime.wait();
  need(std::memcmp(from, to, kBytes) == 0, "the bytes that were sent; got others");
  return "1 MiB there and back";
}

std::string check_events(Access& access) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  cuda::Runtime& runtime = access.runtime();
  const cuda::Mark first = runtime.make_mark(cuda::MarkKind::timed);
  const cuda::Mark last = runtime.make_mark(cuda::MarkKind::timed);
  void* const there = access.make(kBytes);
  runtime.mark(first);
  for (int i = 0; i < 10; ++i) runtime.zero(there, kBytes);
  runtime.mark(last);
  runtime.wait_for(last);
  need(runtime.has_passed(first), "events in order");
  const double seconds = runtime.seconds_between(first, last);
  runtime.free_mark(first);
  runtime.free_mark(last);
  need(seconds > 0 && seconds < 1, fmt::format("0 to 1 s for 10 fills; got {} s", seconds));
  return fmt::format("10 fills of 1 MiB took {:.1f} us", seconds * 1e6);
}

// The losses of two steps.
std::vector<float> train(const std::shared_ptr<Device>& device) {
  ParameterCollection model(1, DType::f32, device);
  const Parameter w = model.add_parameters({8, 16}, ParameterInitConst(0.25f));
  const LookupParameter table = model.add_lookup_parameters(4, {16}, ParameterInitConst(0.5f));
  AdamTrainer trainer(model, 0.1f);
  trainer.enable_clipping(0.5f);
  GraphOptions options;
  options.device = device;
  Minibatch batch(options);
  std::vector<float> losses;
  for (int step = 0; step < 2; ++step, batch.clear()) {
    for (unsigned i = 0; i < 3; ++i) {
      ComputationGraph& graph = batch.new_graph();
      batch.add_loss(sum_elems(square(tanh(parameter(graph, w) * lookup(graph, table, i)))));
    }
    losses.push_back(trainer.update(batch));
  }
  trainer.finish_update();
  return losses;
}

std::string check_training(Access&) {
  const std::vector<float> there = train(default_device()), here = train(cpu_device());
  need_close(there, {here.begin(), here.end()}, "the losses");
  need(there[1] < there[0], "a loss that falls");
  return fmt::format("losses {:.4f}, {:.4f}", there[0], there[1]);
}

void run(int argc, char** argv) {
  Options options(kHelp);
  if (!options.read(argc, argv)) return;
  Clock::time_point begin = Clock::now();
  const auto say = [&](const char* name, const std::string& what) {
    const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
    fmt::print("{:<10} ok {:>10.1f} ms  {}\n", name, took.count(), what);
    std::fflush(stdout);
    begin = Clock::now();
  };
  Access access;
  say("device", default_device()->name());
  say("kernel", check_kernel(access));
  say("product", check_products(access));
  say("cuBLAS", check_cublas(access));
  say("copies", check_copies(access));
  say("events", check_events(access));
  say("training", check_training(access));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("smoke", [&] { run(argc, argv); });
}
