// What a GPU's calls cost, measured one kind at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/gpu/access.h"
#include "bench/support/gpu_model.h"

namespace dynet_like::bench::gpu {

/// Seconds of calls that follow one another.
struct CallCosts {
  double host_launch = 0;    ///< of the host, for a launch without lists
  double host_call = 0;      ///< of the host, for a call of the library's queue with 16 items
  double host_mark = 0;      ///< of the host, for an event
  double device_launch = 0;  ///< of the device, from the end of one tiny kernel to that of the next
  double round_trip = 0;     ///< a tiny kernel, an event, and the wait for it
  bool host_was_ahead = true;  ///< else device_launch is the host's time
};

/// A copy of so many bytes between pinned memory and the device.
struct CopyCosts {
  std::size_t bytes = 0;
  double host = 0;                    ///< of the host, to ask for one to the device
  double to_device = 0, to_host = 0;  ///< of the device, each
  double round_trip = 0;              ///< there, back, and the wait
};

/// A product by the library's kernels and by cuBLAS.
struct ProductCosts {
  std::string kind;
  std::size_t rows = 0, inner = 0, columns = 0;
  double flops = 0, terms = 0;  ///< one by one in a thread
  double own = 0, cublas = 0;   ///< seconds; 0: there is no cuBLAS
};

class Measures {
 public:
  explicit Measures(Access& access);

  double bytes_per_second() const { return bytes_per_second_; }  ///< of a large copy, both ways
  CallCosts calls();
  std::vector<std::size_t> copy_sizes() const;
  CopyCosts copies(std::size_t bytes);
  /// Whether cuBLAS is there; else why not.
  bool open_cublas(std::string& why);
  std::vector<std::size_t> column_counts() const;
  std::vector<std::pair<std::size_t, std::size_t>> matrices() const;
  /// All kinds for one shape.
  std::vector<ProductCosts> products(std::size_t rows, std::size_t inner, std::size_t columns);

 private:
  /// Of the device, for what `ask` submits, and of the host for asking. The device is kept at work
  /// until all is asked for.
  template <class Ask>
  double device_seconds(const Ask& ask, double* host = nullptr, bool* ahead = nullptr);
  void keep_busy(double seconds);
  void ask_tiny(std::size_t count);
  double host_call_seconds();

  Access& access_;
  cuda::Mark first_, last_;
  std::size_t large_;
  void *from_, *to_;
  double copy_seconds_ = 0, bytes_per_second_ = 0;
  bool has_cublas_ = false;
  float* numbers_;
  ops::Signature tiny_;
};

/// The constants of the model. Products count beyond their launch, at 256 columns of the largest
/// matrix or as many as there are.
Gpu gpu_of(const CallCosts& calls, const std::vector<CopyCosts>& copies,
           const std::vector<ProductCosts>& products, double bytes_per_second);

}  // namespace dynet_like::bench::gpu
