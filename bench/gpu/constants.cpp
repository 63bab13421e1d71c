// Measures the cost of a GPU's calls: launches, copies, waits, memory, and products against cuBLAS.
#include <fmt/core.h>

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>

#include "bench/gpu/measures.h"
#include "bench/support/program.h"
#include "dynet_like/io/atomic_file.h"

namespace {

using namespace dynet_like::bench;
using gpu::CallCosts, gpu::CopyCosts, gpu::ProductCosts;
using nlohmann::json;

constexpr const char* kHelp =
    "Measures the cost of a GPU's calls for a minibatch, in a minute or two:\n"
    "\n"
    "  calls      us of the host for a launch, for a call of the library's queue with lists of 16\n"
    "             items, and for an event; us of the device from one tiny kernel to the next, and\n"
    "             from one step of a launch to the next; us from a launch until the host's wait\n"
    "             for it ends\n"
    "  memory     GB/s of a copy of 1 GiB on the device, bytes read and written\n"
    "  copies     1 kB to 64 MB from and to pinned memory: us of the host to queue one, us of\n"
    "             the device for each, us for both and the wait, GB/s\n"
    "  products   the library's kernels, which gather their columns, and cuBLAS in full "
    "precision:\n"
    "             W x, W' dy and dy x' for the gates of LSTMs and Tree-LSTMs with 1 to 4,096\n"
    "             columns, us and TFLOP/s. Tiles are chosen as in training.\n"
    "\n"
    "Each figure is the minimum of 5 tries. Times of the device are between two events, while the\n"
    "host is ahead. With --device cuda-host all sizes are small, and times mean nothing.\n"
    "\n"
    "--json writes all figures, and in \"gpu\" the constants of the model in "
    "bench/support/gpu_model.h;\n"
    "throughput --constants FILE predicts from them. The file is written anew after each part.\n"
    "\n"
    "Options";

json to_json(const CallCosts& calls) {
  return {
      {"host_launch_us", calls.host_launch * 1e6}, {"host_call_us", calls.host_call * 1e6},
      {"host_mark_us", calls.host_mark * 1e6},     {"device_launch_us", calls.device_launch * 1e6},
      {"device_step_us", calls.device_step * 1e6}, {"round_trip_us", calls.round_trip * 1e6},
      {"host_was_ahead", calls.host_was_ahead}};
}

json to_json(const CopyCosts& copy) {
  return {{"bytes", copy.bytes},
          {"host_us", copy.host * 1e6},
          {"to_device_us", copy.to_device * 1e6},
          {"to_host_us", copy.to_host * 1e6},
          {"round_trip_us", copy.round_trip * 1e6}};
}

json to_json(const ProductCosts& product) {
  json result = {{"kind", product.kind},
                 {"rows", product.rows},
                 {"inner", product.inner},
                 {"columns", product.columns},
                 {"own_us", product.own * 1e6}};
  if (product.cublas > 0) result["cublas_us"] = product.cublas * 1e6;
  return result;
}

void print(const CallCosts& calls) {
  fmt::print(
      "\ncalls, us\n"
      "{:10.2f}  host, a launch\n"
      "{:10.2f}  host, a call of the queue with lists of 16 items\n"
      "{:10.2f}  host, an event\n"
      "{:10.2f}  device, from one tiny kernel to the next{}\n"
      "{:10.2f}  device, from one step of a launch to the next\n"
      "{:10.2f}  from a launch until the host has waited for it\n",
      calls.host_launch * 1e6, calls.host_call * 1e6, calls.host_mark * 1e6,
      calls.device_launch * 1e6,
      calls.host_was_ahead ? "" : " (at most: the host did not keep ahead)",
      calls.device_step * 1e6, calls.round_trip * 1e6);
}

void print(const CopyCosts& copy) {
  const double gigabytes = static_cast<double>(copy.bytes) / 1e9;
  fmt::print("{:>12}{:>10.2f}{:>12.2f}{:>12.2f}{:>12.2f}{:>14.2f}{:>14.2f}\n", copy.bytes,
             copy.host * 1e6, copy.to_device * 1e6, copy.to_host * 1e6, copy.round_trip * 1e6,
             gigabytes / copy.to_device, gigabytes / copy.to_host);
}

void print(const ProductCosts& product) {
  const auto teraflops = [&](double seconds) { return product.flops / seconds / 1e12; };
  fmt::print("{:<7}{:>6}{:>7}{:>9}{:>11.2f}{:>11.3f}", product.kind, product.rows, product.inner,
             product.columns, product.own * 1e6, teraflops(product.own));
  if (product.cublas > 0) {
    fmt::print("{:>11.2f}{:>11.3f}{:>9.2f}", product.cublas * 1e6, teraflops(product.cublas),
               product.own / product.cublas);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

class Constants {
 public:
  explicit Constants(std::string file) : file_(std::move(file)) {}

  void measure() {
    gpu::Measures measures(access_);
    report_["device"] = dynet_like::default_device()->name();
    const double bandwidth = measures.bytes_per_second();
    fmt::print("memory: {:.0f} GB/s\n", bandwidth / 1e9);
    report_["memory_gb_per_s"] = bandwidth / 1e9;
    const CallCosts calls = measures.calls();
    print(calls);
    report_["calls"] = to_json(calls);
    write();
    const std::vector<CopyCosts> copies = measure_copies(measures);
    const std::vector<ProductCosts> products = measure_products(measures);
    const Gpu found = gpu_of(calls, copies, products, bandwidth);
    report_["gpu"] = dynet_like::bench::to_json(found);
    write();
    fmt::print("\nconstants of the model\n");
    for (const auto& [name, value] : report_["gpu"].items()) {
      fmt::print("{:>12.4g}  {}\n", value.get<double>(), name);
    }
  }

 private:
  std::vector<CopyCosts> measure_copies(gpu::Measures& measures) {
    fmt::print("\n{:>12}{:>10}{:>12}{:>12}{:>12}{:>14}{:>14}\n", "copies, B", "host us",
               "to dev. us", "to host us", "both us", "to dev. GB/s", "to host GB/s");
    std::vector<CopyCosts> copies;
    for (const std::size_t bytes : measures.copy_sizes()) {
      copies.push_back(measures.copies(bytes));
      print(copies.back());
      report_["copies"].push_back(to_json(copies.back()));
    }
    write();
    return copies;
  }

  std::vector<ProductCosts> measure_products(gpu::Measures& measures) {
    std::string why;
    if (!measures.open_cublas(why)) fmt::print("\nno cuBLAS: {}\n", why);
    fmt::print("\n{:<7}{:>6}{:>7}{:>9}{:>11}{:>11}{:>11}{:>11}{:>9}\n", "product", "rows", "inner",
               "columns", "us", "TFLOP/s", "cuBLAS us", "TFLOP/s", "ratio");
    std::vector<ProductCosts> products;
    for (const auto& [rows, inner] : measures.matrices()) {
      for (const std::size_t columns : measures.column_counts()) {
        for (const ProductCosts& product : measures.products(rows, inner, columns)) {
          products.push_back(product);
          print(product);
          report_["products"].push_back(to_json(product));
        }
      }
      write();
    }
    return products;
  }

  void write() const {
    if (!file_.empty()) dynet_like::detail::write_atomically(file_, report_.dump(2) + '\n');
  }

  const std::string file_;
  gpu::Access access_;
  json report_;
};

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  std::string file;
  po::options_description options(kHelp);
  options.add_options()("json", po::value(&file)->value_name("FILE"),
                        "also write all figures to this file");
  po::variables_map values;
  if (!read_command_line(argc, argv, options, values)) return;
  if (!file.empty()) dynet_like::detail::AtomicFile writable(file);
  Constants(file).measure();
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("constants", [&] { run(argc, argv); });
}
