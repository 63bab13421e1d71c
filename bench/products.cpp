// Products of the sizes that layers have: the library's, whose every element is one chain of
// multiply-adds in a fixed order, and those of OpenBLAS and oneDNN, which choose an order for each
// size. The difference is what the same bits cost in products.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "bench/by_hand/kernels.h"
#include "bench/support/fma_peak.h"
#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "dynet_like/ops/structured.h"

namespace {

using namespace dynet_like;
using bench::by_hand::Layer, bench::by_hand::Places, bench::by_hand::Weight;
using Numbers = std::vector<float>;

/// out = a b for matrices by column, of sizes {m, k} and {k, n}; `turned`: out = a b' for b {n, k}.
using Multiply = std::function<void(bool turned, int m, int n, int k, const float* a,
                                    const float* b, float* out)>;

struct Library {
  const char* name;
  Multiply multiply;  ///< empty if this machine does not have it
};

template <class Function>
Function* find_function(const char* file, const char* name) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

Multiply open_blas() {
  const char* const file = "libopenblas.so.0";
  auto* const sgemm = find_function<void(
      const char*, const char*, const int*, const int*, const int*, const float*, const float*,
      const int*, const float*, const int*, const float*, float*, const int*)>(file, "sgemm_");
  auto* const set_threads = find_function<void(int)>(file, "openblas_set_num_threads");
  if (sgemm == nullptr || set_threads == nullptr) return {};
  set_threads(1);
  return [=](bool turned, int m, int n, int k, const float* a, const float* b, float* out) {
    const float one = 1, zero = 0;
    sgemm("N", turned ? "T" : "N", &m, &n, &k, &one, a, &m, b, turned ? &n : &k, &zero, out, &m);
  };
}

// Its matrices lie by row, so the product is turned. It takes its threads from $OMP_NUM_THREADS.
Multiply one_dnn() {
  using Size = long;
  for (const char* file : {"libdnnl.so.3", "libdnnl.so.2"}) {
    auto* const sgemm =
        find_function<int(char, char, Size, Size, Size, float, const float*, Size, const float*,
                          Size, float, float*, Size)>(file, "dnnl_sgemm");
    if (sgemm == nullptr) continue;
    return [=](bool turned, int m, int n, int k, const float* a, const float* b, float* out) {
      sgemm(turned ? 'T' : 'N', 'N', n, m, k, 1, b, turned ? n : k, a, m, 0, out, m);
    };
  }
  return {};
}

// Billions of operations per second.
std::vector<double> rates(const std::vector<std::function<void()>>& runs, double flops,
                          double seconds) {
  // Reading the clock takes a microsecond.
  const int at_once = static_cast<int>(1e7 / flops) + 1;
  std::vector<std::function<void()>> repeated;
  for (const std::function<void()>& run : runs) {
    repeated.push_back([&run, at_once] {
      for (int i = 0; i < at_once; ++i) run();
    });
  }
  std::vector<double> rates = bench::seconds_by_turns(repeated, seconds);
  for (double& rate : rates) rate = at_once * flops / rate / 1e9;
  return rates;
}

Numbers draw(Random& random, std::size_t count) {
  Numbers numbers(count);
  for (float& number : numbers) number = static_cast<float>(random.uniform()) - 0.5f;
  return numbers;
}

class Table {
 public:
  explicit Table(double seconds)
      : seconds_(seconds), others_{{"OpenBLAS", open_blas()}, {"oneDNN", one_dnn()}} {
    std::printf("one core multiplies and adds %.0f GFLOP/s\n", bench::measure_fma_peak());
    std::printf("%-28s %8s", "", "here");
    std::erase_if(others_, [](const Library& other) {
      if (!other.multiply) std::printf("  (no %s)", other.name);
      return !other.multiply;
    });
    for (const Library& other : others_) std::printf(" %8s", other.name);
    std::printf(" %8s\n", "to best");
  }

  /// W X, of sizes {rows, terms} and {terms, columns}.
  void add_product(unsigned rows, unsigned terms, unsigned columns) {
    Weight w(*queue_, "W", Dim({rows, terms}), draw(random_, std::size_t{rows} * terms));
    Layer layer(*queue_, ops::matrix_product, {w.dim(), Dim({terms})});
    const Numbers x = draw(random_, std::size_t{terms} * columns);
    Numbers out(std::size_t{rows} * columns);
    const Places places = bench::by_hand::rows(x.data(), columns, terms);
    const detail::Operand in[] = {w.operand(), {places.data()}};
    add("W x", rows, terms, columns, false, w.values(), x.data(), out.data(),
        [&] { layer.forward(columns, in, out.data(), nullptr); });
  }

  /// The gradient of W: the sum of so many dy x', of sizes {rows} and {columns}.
  void add_gradient(unsigned rows, unsigned terms, unsigned columns) {
    Weight w(*queue_, "W", Dim({rows, columns}), Numbers(std::size_t{rows} * columns));
    const Numbers dy = draw(random_, std::size_t{rows} * terms);
    const Numbers x = draw(random_, std::size_t{columns} * terms);
    Numbers out(std::size_t{rows} * columns);
    const Places dys = bench::by_hand::rows(dy.data(), terms, rows);
    const Places xs = bench::by_hand::rows(x.data(), terms, columns);
    add("dy x'", rows, terms, columns, true, dy.data(), x.data(), out.data(),
        [&] { w.set_gradient(dys, xs); });
  }

  void print_mean(const char* name) {
    if (!others_.empty()) {
      const double sum = std::accumulate(logs_.begin(), logs_.end(), 0.0);
      std::printf("%s, geometric mean: %.2f\n", name, std::exp(sum / logs_.size()));
    }
    logs_.clear();
  }

 private:
  void add(const char* name, unsigned m, unsigned k, unsigned n, bool turned, const float* a,
           const float* b, float* out, const std::function<void()>& here) {
    std::vector<std::function<void()>> runs{here};
    for (const Library& other : others_) {
      runs.push_back([&, turned] {
        other.multiply(turned, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), a, b,
                       out);
      });
    }
    const std::vector<double> found = rates(runs, 2.0 * m * k * n, seconds_);
    std::printf("%-6s %6u x %4u x %4u ", name, m, k, n);
    for (const double rate : found) std::printf(" %8.1f", rate);
    if (found.size() > 1) {
      logs_.push_back(std::log(found[0] / *std::max_element(found.begin() + 1, found.end())));
      std::printf(" %8.2f", std::exp(logs_.back()));
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  double seconds_;
  std::vector<Library> others_;
  std::unique_ptr<detail::Queue> queue_ = detail::make_cpu_queue();
  Random random_{1};
  std::vector<double> logs_;
};

void run(int argc, char** argv) {
  double seconds = 0.1;
  bench::Options options(
      "Products of the library's sizes, with one thread, beside those of OpenBLAS and oneDNN (on\n"
      "Debian: apt install libopenblas0-pthread libdnnl2; OMP_NUM_THREADS=1), in GFLOP/s.");
  options.seconds(seconds, "how long to run each product");
  if (!options.read(argc, argv)) return;
  Table table(seconds);
  for (const unsigned hidden : {50u, 64u, 128u, 256u}) {
    for (const unsigned columns : {1u, 2u, 3u, 4u, 6u, 8u, 16u, 64u, 256u}) {
      table.add_product(4 * hidden, hidden, columns);
    }
    for (const unsigned columns : {1u, 4u, 16u, 64u}) {
      table.add_product(hidden, 4 * hidden, columns);
    }
  }
  table.print_mean("products");
  for (const unsigned hidden : {50u, 64u, 128u, 256u}) {
    for (const unsigned terms : {16u, 64u, 256u, 1024u, 2048u}) {
      table.add_gradient(4 * hidden, terms, hidden);
    }
  }
  table.print_mean("gradients of weights");
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("products", [&] { run(argc, argv); });
}
