// Measures the cost of a GPU's calls: launches, copies, waits, memory, and products against cuBLAS.
// Each figure is the least of a few tries, after one in which the driver loads the kernels.
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
    "Measures the cost of a GPU's calls, in a minute or two:\n"
    "\n"
    "  memory     GB/s of a copy of 1 GiB on the device, bytes read and written\n"
    "  calls      us of the host for a launch, and for a call of the library's queue with lists "
    "of\n"
    "             16 items; us of the device from one tiny kernel to the next, and from one step "
    "of\n"
    "             a launch to the next; us from a launch until the host's wait for it ends\n"
    "  copies     1 kB to 64 MB from and to pinned memory: us of the device for each\n"
    "  products   the library's kernels, which gather their columns, and cuBLAS in full "
    "precision:\n"
    "             W x, W' dy and dy x' for the gates of LSTMs and Tree-LSTMs with 1 to 4,096\n"
    "             columns, us and TFLOP/s. Tiles are chosen as in training.\n"
    "\n"
    "Times of the device are between two events, while the host is ahead. With --device cuda-host\n"
    "all sizes are small, and times mean nothing. bench/support/device_work.cpp has the constants\n"
    "with which throughput predicts.";

constexpr int kTries = 5;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Measures {
 public:
  void print_all() {
    runtime().zero(from_, large_);
    copy_seconds_ = device_seconds(10, [&] { runtime().copy(to_, from_, large_); });
    fmt::print("memory: {:.0f} GB/s\n", 2 * static_cast<double>(large_) / copy_seconds_ / 1e9);
    print_calls();
    print_copies();
    print_products();
  }

 private:
  cuda::Runtime& runtime() { return access_.runtime(); }
  cuda::Commands& commands() { return access_.commands(); }

  // Seconds of the device for each of so many calls, and of the host to queue one. The device is
  // kept busy until all are queued; the emulator runs them when they are queued.
  template <class Ask>
  double device_seconds(int count, const Ask& ask, double* host = nullptr) {
    const cuda::RuntimeUse use(runtime());
    double least = kInfinity, busy = 1e-3;
    for (int i = 0; i <= kTries; ++i) {
      const double copies = copy_seconds_ == 0 ? 0 : std::min(busy, kMostBusy) / copy_seconds_;
      for (int c = 0; !access_.is_emulated() && c < std::ceil(copies); ++c) {
        runtime().copy(to_, from_, large_);
      }
      runtime().mark(first_);
      const Clock::time_point begin = Clock::now();
      for (int c = 0; c < count; ++c) ask();
      commands().submit();
      const double asking = seconds_since(begin);
      runtime().mark(last_);
      runtime().wait();
      busy = 3 * asking;
      if (i == 0) continue;
      if (host != nullptr) *host = i == 1 ? asking / count : std::min(*host, asking / count);
      least = std::min(least, runtime().seconds_between(first_, last_));
    }
    return least / count;
  }

  // A tiny kernel: the product of two numbers, `items` times.
  detail::ForwardCall tiny_call(std::size_t items) {
    tiny_.op = &ops::dot_product;
    tiny_.inputs = {Dim({1}), Dim({1})};
    tiny_.shared = {0, 0};
    tiny_.output = Dim({1});
    tiny_.output_size = 1;
    places_.assign(items, numbers_);
    operands_[0] = operands_[1] =
        items == 1 ? detail::Operand{nullptr, numbers_} : detail::Operand{places_.data()};
    detail::ForwardCall call;
    call.type = &tiny_;
    call.n = items;
    call.in = operands_;
    call.out = {numbers_ + 512, 1};
    call.workspace = &commands();
    return call;
  }

  void print_calls() {
    const int count = access_.is_emulated() ? 20 : 500;  // the driver does not make the host wait
    const auto kernel = access_.queue().kernels(ops::dot_product).forward[0];
    const detail::ForwardCall launch = tiny_call(1);
    double host_launch = 0;
    const double device_launch = device_seconds(
        count, [&] { kernel(launch); }, &host_launch);
    double round_trip = kInfinity;
    for (int i = 0; i < count; ++i) {
      kernel(launch);
      const Clock::time_point begin = Clock::now();
      commands().submit();
      runtime().mark(last_);
      runtime().wait_for(last_);
      round_trip = std::min(round_trip, seconds_since(begin));
    }
    const detail::ForwardCall queued = tiny_call(16);
    double host_call = 0;
    device_seconds(
        count, [&] { access_.queue().forward(kernel, queued); }, &host_call);
    fmt::print(
        "\ncalls, us\n"
        "{:10.2f}  host, a launch\n"
        "{:10.2f}  host, a call of the queue with lists of 16 items\n"
        "{:10.2f}  device, from one tiny kernel to the next\n"
        "{:10.2f}  device, from one step of a launch to the next\n"
        "{:10.2f}  from a launch until the host has waited for it\n",
        host_launch * 1e6, host_call * 1e6, device_launch * 1e6,
        (device_launch + step_seconds(true) - step_seconds(false)) * 1e6, round_trip * 1e6);
  }

  // For a cell of some 100 blocks, with a launch for several steps or one for each.
  double step_seconds(bool together) {
    const unsigned hidden = access_.is_emulated() ? 8 : 512;
    ops::Signature cell;
    cell.op = &ops::lstm_cell;
    cell.attributes = {0, 0};
    cell.inputs = {Dim({3 * hidden}), Dim({3 * hidden, 1}), Dim({1})};
    cell.shared = {1, 1, 1};
    cell.output = Dim({2 * hidden});
    cell.output_size = 2 * hidden;
    detail::Operand in[3];
    for (detail::Operand& operand : in) operand.shared = from_;
    detail::ForwardCall call;
    call.type = &cell;
    call.n = 1;
    call.in = in;
    call.out = {to_, hidden};
    call.workspace = &commands();
    const auto kernel = access_.queue().kernels(ops::lstm_cell).forward[0];
    return device_seconds(40, [&] {
      kernel(call);
      if (!together) commands().finish();
    });
  }

  void print_copies() {
    fmt::print("\n{:>12}{:>14}{:>14}{:>16}{:>16}\n", "copies, B", "to device us", "to host us",
               "to device GB/s", "to host GB/s");
    const std::size_t most = std::min(large_, std::size_t{64} << 20);
    void *const here = runtime().allocate_pinned(most), *const back =
                                                            runtime().allocate_pinned(most);
    std::fill_n(static_cast<std::byte*>(here), most, std::byte{1});
    // In some orders, the emulator accepts only one copy at a time to the same memory.
    const int count = access_.is_emulated() ? 1 : 10;
    for (std::size_t bytes = 1024; bytes <= most; bytes *= 4) {
      const double there =
          device_seconds(count, [&] { runtime().copy_to_device(to_, here, bytes); });
      const double home = device_seconds(count, [&] { runtime().copy_to_host(back, to_, bytes); });
      const double gigabytes = static_cast<double>(bytes) / 1e9;
      fmt::print("{:>12}{:>14.2f}{:>14.2f}{:>16.2f}{:>16.2f}\n", bytes, there * 1e6, home * 1e6,
                 gigabytes / there, gigabytes / home);
    }
    runtime().free_pinned(here);
    runtime().free_pinned(back);
  }

  void print_products() {
    bool has_cublas = true;
    try {
      runtime().open_products(cuda::ProductMath::fastest);
    } catch (const DeviceError& error) {
      fmt::print("\nno cuBLAS: {}\n", error.what());
      has_cublas = false;
    }
    fmt::print("\n{:<7}{:>6}{:>7}{:>9}{:>11}{:>11}{:>11}{:>11}{:>9}\n", "product", "rows", "inner",
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

  static constexpr double kMostBusy = 0.2;  // seconds

  Access access_;
  cuda::Mark first_ = runtime().make_mark(cuda::MarkKind::timed);
  cuda::Mark last_ = runtime().make_mark(cuda::MarkKind::timed);
  std::size_t large_ = std::size_t{1} << (access_.is_emulated() ? 20 : 30);
  void *from_ = access_.make(large_), *to_ = access_.make(large_);
  float* numbers_ = access_.put(bench::gpu::draw(1024, 4));
  double copy_seconds_ = 0;
  ops::Signature tiny_;
  std::vector<const void*> places_;
  detail::Operand operands_[2];
};

void run(int argc, char** argv) {
  bench::Options options(kHelp);
  if (options.read(argc, argv)) Measures().print_all();
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("constants", [&] { run(argc, argv); });
}
