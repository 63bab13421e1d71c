// Each figure is the minimum of a few tries, after one that is not counted, in which the driver
// loads the kernels.
#include "bench/gpu/measures.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::gpu {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTries = 5;
constexpr double kMostBusy = 0.2;  // seconds

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Measures::Measures(Access& access)
    : access_(access),
      first_(access.runtime().make_mark(cuda::MarkKind::timed)),
      last_(access.runtime().make_mark(cuda::MarkKind::timed)),
      large_(access.is_emulated() ? std::size_t{1} << 20 : std::size_t{1} << 30),
      from_(access.make(large_)),
      to_(access.make(large_)),
      numbers_(access.put(draw(1024, 4))) {
  tiny_.op = &ops::dot_product;
  tiny_.inputs = {Dim({1}), Dim({1})};
  tiny_.shared = {0, 0};
  tiny_.output = Dim({1});
  tiny_.output_size = 1;
  access.runtime().zero(from_, large_);
  constexpr int kCopies = 10;
  copy_seconds_ = device_seconds([&] {
                    for (int i = 0; i < kCopies; ++i) access_.runtime().copy(to_, from_, large_);
                  }) /
                  kCopies;
  bytes_per_second_ = 2 * static_cast<double>(large_) / copy_seconds_;
}

// Does nothing for the emulator, which runs calls when they are queued.
void Measures::keep_busy(double seconds) {
  if (copy_seconds_ == 0 || access_.is_emulated()) return;
  const double copies = std::ceil(std::min(seconds, kMostBusy) / copy_seconds_);
  for (int i = 0; i < static_cast<int>(copies); ++i) access_.runtime().copy(to_, from_, large_);
}

template <class Ask>
double Measures::device_seconds(const Ask& ask, double* host, bool* ahead) {
  cuda::Runtime& runtime = access_.runtime();
  const cuda::RuntimeUse use(runtime);
  ask();
  runtime.wait();
  double least = std::numeric_limits<double>::infinity(), least_host = least, busy = 1e-3;
  bool was_ahead = true;
  for (int i = 0; i < kTries; ++i) {
    keep_busy(busy);
    runtime.mark(first_);
    const Clock::time_point begin = Clock::now();
    ask();
    const double asking = seconds_since(begin);
    was_ahead = !runtime.has_passed(first_);
    runtime.mark(last_);
    runtime.wait();
    busy = 3 * asking;
    least_host = std::min(least_host, asking);
    least = std::min(least, runtime.seconds_between(first_, last_));
  }
  if (host != nullptr) *host = least_host;
  if (ahead != nullptr) *ahead = was_ahead || access_.is_emulated();
  return least;
}

void Measures::ask_tiny(std::size_t count) {
  cuda::Commands& commands = access_.commands();
  const detail::Kernels& kernels = access_.queue().kernels(*tiny_.op);
  detail::Operand in[2];
  in[0].shared = numbers_;
  in[1].shared = numbers_ + 1;
  detail::ForwardCall call;
  call.type = &tiny_;
  call.n = 1;
  call.in = in;
  call.out = {numbers_ + 2, tiny_.output_size};
  call.workspace = &commands;
  for (std::size_t i = 0; i < count; ++i) kernels.forward[0](call);
}

CallCosts Measures::calls() {
  // Few enough that the driver does not make the host wait.
  const std::size_t count = access_.is_emulated() ? 20 : 500;
  const double many = static_cast<double>(count);
  cuda::Runtime& runtime = access_.runtime();
  CallCosts costs;
  // The list of calls is made before, so that only launches are measured.
  double host = 0;
  costs.device_launch = std::numeric_limits<double>::infinity();
  ask_tiny(count);
  access_.commands().submit();
  runtime.wait();
  for (int i = 0; i < kTries; ++i) {
    ask_tiny(count);
    keep_busy(10e-6 * many);
    runtime.mark(first_);
    const Clock::time_point begin = Clock::now();
    access_.commands().submit();
    host = i == 0 ? seconds_since(begin) : std::min(host, seconds_since(begin));
    costs.host_was_ahead = access_.is_emulated() || !runtime.has_passed(first_);
    runtime.mark(last_);
    runtime.wait();
    costs.device_launch =
        std::min(costs.device_launch, runtime.seconds_between(first_, last_) / many);
  }
  costs.host_launch = host / many;
  device_seconds(
      [&] {
        for (std::size_t i = 0; i < count; ++i) runtime.mark(last_);
      },
      &host);
  costs.host_mark = host / many;
  costs.host_call = host_call_seconds();
  costs.device_step = costs.device_launch + step_seconds(true) - step_seconds(false);
  costs.round_trip = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < count; ++i) {
    ask_tiny(1);
    const Clock::time_point begin = Clock::now();
    access_.commands().submit();
    runtime.mark(last_);
    runtime.wait_for(last_);
    costs.round_trip = std::min(costs.round_trip, seconds_since(begin));
  }
  return costs;
}

// Submitted like the calls of a minibatch: lists of 16 items, 48 calls at a time.
double Measures::host_call_seconds() {
  constexpr std::size_t kItems = 16;
  const std::size_t count = access_.is_emulated() ? 48 : 960;
  std::vector<const void*> places(kItems);
  for (std::size_t i = 0; i < kItems; ++i) places[i] = numbers_ + 8 * i;
  detail::Operand in[2];
  in[0].items = in[1].items = places.data();
  detail::ForwardCall call;
  call.type = &tiny_;
  call.n = kItems;
  call.in = in;
  call.out = {numbers_ + 512, tiny_.output_size};
  detail::Queue& queue = access_.queue();
  const auto kernel = queue.kernels(*tiny_.op).forward[0];
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= kTries; ++i) {
    const Clock::time_point begin = Clock::now();
    for (std::size_t c = 0; c < count; ++c) queue.forward(kernel, call);
    queue.submit();
    if (i > 0) least = std::min(least, seconds_since(begin));
    access_.runtime().wait();
  }
  return least / static_cast<double>(count);
}

// The device's, for a cell of some 100 blocks, with a launch for several or one for each.
double Measures::step_seconds(bool together) {
  constexpr int kSteps = 40;
  const unsigned hidden = access_.is_emulated() ? 8 : 512;
  const auto* const zeros = static_cast<const float*>(from_);
  ops::Signature cell;
  cell.op = &ops::lstm_cell;
  cell.attributes = {0, 0};
  cell.inputs = {Dim({3 * hidden}), Dim({3 * hidden, 1}), Dim({1})};
  cell.shared = {1, 1, 1};
  cell.output = Dim({2 * hidden});
  cell.output_size = 2 * hidden;
  detail::Operand in[3];
  for (detail::Operand& operand : in) operand.shared = zeros;
  detail::ForwardCall call;
  call.type = &cell;
  call.n = 1;
  call.in = in;
  call.out = {to_, hidden};
  call.workspace = &access_.commands();
  const auto kernel = access_.queue().kernels(ops::lstm_cell).forward[0];
  return device_seconds([&] {
           for (int i = 0; i < kSteps; ++i) {
             kernel(call);
             if (!together) access_.commands().finish();
           }
           access_.commands().submit();
         }) /
         kSteps;
}

std::vector<std::size_t> Measures::copy_sizes() const {
  std::vector<std::size_t> sizes;
  const std::size_t most = std::min(large_, std::size_t{64} << 20);
  for (std::size_t bytes = 1024; bytes <= most; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

CopyCosts Measures::copies(std::size_t bytes) {
  // In some orders, the emulator accepts only one copy at a time to the same memory.
  const int copies = access_.is_emulated() ? 1 : 10;
  cuda::Runtime& runtime = access_.runtime();
  void *const here = runtime.allocate_pinned(bytes), *const back = runtime.allocate_pinned(bytes);
  std::fill_n(static_cast<std::byte*>(here), bytes, std::byte{1});
  CopyCosts costs;
  costs.bytes = bytes;
  costs.to_device = device_seconds(
                        [&] {
                          for (int i = 0; i < copies; ++i) runtime.copy_to_device(to_, here, bytes);
                        },
                        &costs.host) /
                    copies;
  costs.host /= copies;
  costs.to_host = device_seconds([&] {
                    for (int i = 0; i < copies; ++i) runtime.copy_to_host(back, to_, bytes);
                  }) /
                  copies;
  costs.round_trip = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const Clock::time_point begin = Clock::now();
    runtime.copy_to_device(to_, here, bytes);
    runtime.copy_to_host(back, to_, bytes);
    runtime.wait();
    costs.round_trip = std::min(costs.round_trip, seconds_since(begin));
  }
  runtime.free_pinned(here);
  runtime.free_pinned(back);
  return costs;
}

bool Measures::open_cublas(std::string& why) {
  try {
    access_.runtime().open_products(cuda::ProductMath::fastest);
    has_cublas_ = true;
  } catch (const DeviceError& error) {
    why = error.what();
  }
  return has_cublas_;
}

std::vector<std::size_t> Measures::column_counts() const {
  std::vector<std::size_t> counts;
  const std::size_t most = access_.is_emulated() ? 16 : 4096;
  for (std::size_t columns = 1; columns <= most; columns *= 2) counts.push_back(columns);
  return counts;
}

// The gates of an LSTM and of a binary Tree-LSTM.
std::vector<std::pair<std::size_t, std::size_t>> Measures::matrices() const {
  if (access_.is_emulated()) return {{80, 32}};
  return {{320, 128}, {1024, 512}, {1280, 512}};
}

std::vector<ProductCosts> Measures::products(std::size_t rows, std::size_t inner,
                                             std::size_t columns) {
  const int repeats = access_.is_emulated() ? 1 : 20;
  Product product(access_, rows, inner, columns);
  std::vector<ProductCosts> all;
  for (const Product::Kind kind : {Product::forward, Product::gradient, Product::outer}) {
    const auto seconds = [&](bool by_cublas) {
      return device_seconds([&] {
               for (int i = 0; i < repeats; ++i) {
                 product.ask(kind, by_cublas);
                 access_.commands().finish();  // each is a launch
               }
               access_.commands().submit();
             }) /
             repeats;
    };
    const char* const names[] = {"W x", "W' dy", "dy x'"};
    const std::uint64_t before = access_.commands().product_terms();
    product.ask(kind, false);
    const auto terms = static_cast<double>(access_.commands().product_terms() - before);
    all.push_back({names[kind], rows, inner, columns, product.flops(), terms, seconds(false),
                   has_cublas_ ? seconds(true) : 0});
  }
  return all;
}

Gpu gpu_of(const CallCosts& calls, const std::vector<CopyCosts>& copies,
           const std::vector<ProductCosts>& products, double bytes_per_second) {
  constexpr double kShortest = 1e-7;  // a wait takes at least so long beyond the launch
  constexpr std::size_t kColumns = 256;
  Gpu gpu{};
  gpu.launch_seconds = calls.device_launch;
  gpu.host_call_seconds = calls.host_call;
  gpu.meeting_seconds = std::max(kShortest, calls.device_step);
  gpu.host_step_seconds = std::max(kShortest, calls.host_call - calls.host_launch);
  gpu.wait_seconds =
      std::max(kShortest, calls.round_trip - calls.host_launch - calls.device_launch);
  gpu.bytes_per_second = bytes_per_second;
  const CopyCosts& largest = copies.back();
  gpu.bus_bytes_per_second = static_cast<double>(largest.bytes) / largest.to_device;
  for (const ProductCosts& product : products) {
    if (product.kind != products[0].kind || product.columns > kColumns) continue;
    const double own = std::max(kShortest, product.own - calls.device_launch);
    if (product.columns == 1) gpu.term_seconds = own / product.terms;
    gpu.flops_per_second = product.flops / own;
  }
  return gpu;
}

}  // namespace dynet_like::bench::gpu
