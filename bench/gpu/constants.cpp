// Measures the cost of a GPU's calls: launches, copies, memory, and products against cuBLAS.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "bench/gpu/access.h"
#include "bench/support/program.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/ops/structured.h"

namespace {

using namespace dynet_like;
using bench::gpu::Access, bench::gpu::Product;
namespace cuda = dynet_like::detail::cuda;
using Clock = std::chrono::steady_clock;

constexpr const char* kHelp =
    "Measures the cost of a GPU's calls, in a minute or two: the memory's speed in a copy of 1 "
    "GiB\n"
    "on the device, bytes read and written; copies of 64 MiB from and to pinned memory; the time "
    "of\n"
    "a launch, for the host and from one tiny kernel to the next on the device; and products by "
    "the\n"
    "library's kernels, which gather their columns, and by cuBLAS in full precision: W x, W' dy "
    "and\n"
    "dy x' for the gates of LSTMs and Tree-LSTMs with 1 to 4,096 columns. Tiles are chosen as in\n"
    "training.\n"
    "\n"
    "Each time is the least of 5 tries, after one in which the driver loads the kernels. Those of\n"
    "the device are between two events, while the host is ahead. With --device cuda-host all "
    "sizes\n"
    "are small, and times mean nothing.";

class Measures {
 public:
  void print_all() {
    runtime().zero(from_, large_);
    copy_seconds_ = device_seconds(10, [&] { runtime().copy(to_, from_, large_); });
    const auto gigabytes = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e9; };
    fmt::print("memory: {:.0f} GB/s\n", gigabytes(2 * large_) / copy_seconds_);
    print_launch();
    const std::size_t bytes = large_ / 16;
    void* const pinned = runtime().allocate_pinned(bytes);
    std::fill_n(static_cast<std::byte*>(pinned), bytes, std::byte{1});
    // In some orders, the emulator accepts only one copy at a time to the same memory.
    const double there = device_seconds(1, [&] { runtime().copy_to_device(to_, pinned, bytes); });
    const double back = device_seconds(1, [&] { runtime().copy_to_host(pinned, to_, bytes); });
    fmt::print("copies: {:.1f} GB/s to the device, {:.1f} GB/s back\n", gigabytes(bytes) / there,
               gigabytes(bytes) / back);
    runtime().free_pinned(pinned);
    print_products();
  }

 private:
  cuda::Runtime& runtime() { return access_.runtime(); }
  cuda::Commands& commands() { return access_.commands(); }

  // Seconds of the device for each of so many calls, and of the host to queue one. The device is
  // kept busy until all are queued; the emulator runs them when they are queued.
  template <class Ask>
  double device_seconds(int count, const Ask& ask, double* host = nullptr) {
    constexpr int kTries = 5;
    constexpr double kMostBusy = 0.2;
    const cuda::RuntimeUse use(runtime());
    double least = std::numeric_limits<double>::infinity(), least_host = least, busy = 1e-3;
    for (int i = 0; i <= kTries; ++i) {
      const double copies = copy_seconds_ == 0 ? 0 : std::min(busy, kMostBusy) / copy_seconds_;
      for (int c = 0; !access_.is_emulated() && c < std::ceil(copies); ++c) {
        runtime().copy(to_, from_, large_);
      }
      runtime().mark(first_);
      const Clock::time_point begin = Clock::now();
      for (int c = 0; c < count; ++c) ask();
      commands().submit();
      const double asking = std::chrono::duration<double>(Clock::now() - begin).count();
      runtime().mark(last_);
      runtime().wait();
      busy = 3 * asking;
      if (i == 0) continue;
      least_host = std::min(least_host, asking / count);
      least = std::min(least, runtime().seconds_between(first_, last_) / count);
    }
    if (host != nullptr) *host = least_host;
    return least;
  }

  // Of a tiny kernel: the product of two numbers.
  void print_launch() {
    ops::Signature type;
    type.op = &ops::dot_product;
    type.inputs = {Dim({1}), Dim({1})};
    type.shared = {0, 0};
    type.output = Dim({1});
    type.output_size = 1;
    float* const numbers = access_.put(bench::gpu::draw(3, 4));
    detail::Operand in[2];
    in[0].shared = numbers;
    in[1].shared = numbers + 1;
    detail::ForwardCall call;
    call.type = &type;
    call.n = 1;
    call.in = in;
    call.out = {numbers + 2, 1};
    call.workspace = &commands();
    const auto kernel = access_.queue().kernels(ops::dot_product).forward[0];
    double host = 0;
    // Few enough that the driver does not make the host wait.
    const double device = device_seconds(
        access_.is_emulated() ? 20 : 500, [&] { kernel(call); }, &host);
    fmt::print("a launch: {:.2f} us of the host, {:.2f} us of the device\n", host * 1e6,
               device * 1e6);
  }

  void print_products() {
    bool has_cublas = true;
    try {
      runtime().open_products(cuda::ProductMath::fastest);
    } catch (const DeviceError& error) {
      fmt::print("no cuBLAS: {}\n", error.what());
      has_cublas = false;
    }
    fmt::print("{:<7}{:>6}{:>7}{:>9}{:>11}{:>11}{:>11}{:>11}{:>9}\n", "product", "rows", "inner",
               "columns", "us", "TFLOP/s", "cuBLAS us", "TFLOP/s", "ratio");
    // The gates of an LSTM and of a binary Tree-LSTM.
    std::vector<std::pair<unsigned, unsigned>> matrices = {{320, 128}, {1024, 512}, {1280, 512}};
    if (access_.is_emulated()) matrices = {{80, 32}};
    for (const auto& [rows, inner] : matrices) {
      for (unsigned columns = 1; columns <= (access_.is_emulated() ? 16 : 4096); columns *= 2) {
        print_products(rows, inner, columns, has_cublas);
      }
    }
  }

  void print_products(unsigned rows, unsigned inner, unsigned columns, bool has_cublas) {
    Product product(access_, rows, inner, columns);
    const char* const names[] = {"W x", "W' dy", "dy x'"};
    for (const Product::Kind kind : {Product::forward, Product::gradient, Product::outer}) {
      const auto seconds = [&](bool by_cublas) {
        return device_seconds(access_.is_emulated() ? 1 : 20, [&] {
          product.ask(kind, by_cublas);
          commands().finish();  // each is a launch
        });
      };
      const auto teraflops = [&](double time) { return product.flops() / time / 1e12; };
      const double own = seconds(false);
      fmt::print("{:<7}{:>6}{:>7}{:>9}{:>11.2f}{:>11.3f}", names[kind], rows, inner, columns,
                 own * 1e6, teraflops(own));
      if (has_cublas) {
        const double cublas = seconds(true);
        fmt::print("{:>11.2f}{:>11.3f}{:>9.2f}", cublas * 1e6, teraflops(cublas), own / cublas);
      }
      fmt::print("\n");
      std::fflush(stdout);
    }
  }

  Access access_;
  cuda::Mark first_ = runtime().make_mark(cuda::MarkKind::timed);
  cuda::Mark last_ = runtime().make_mark(cuda::MarkKind::timed);
  std::size_t large_ = std::size_t{1} << (access_.is_emulated() ? 20 : 30);
  void *from_ = access_.make(large_), *to_ = access_.make(large_);
  double copy_seconds_ = 0;
};

void run(int argc, char** argv) {
  bench::Options options(kHelp);
  if (options.read(argc, argv)) Measures().print_all();
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("constants", [&] { run(argc, argv); });
}
