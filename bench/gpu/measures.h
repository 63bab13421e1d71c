// The cost of a GPU's calls, measured one kind at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/gpu/access.h"
#include "bench/support/gpu_model.h"

namespace dynet_like::bench::gpu {

/// Seconds per call, if calls follow each other.
struct CallCosts {
  double host_launch = 0;    ///< the host's, for a launch without lists
  double host_call = 0;      ///< the host's, for a call of the library's queue with 16 items
  double host_mark = 0;      ///< the host's, for an event
  double device_launch = 0;  ///< the device's, from the end of one tiny kernel to that of the next
  double device_step = 0;    ///< the same for two steps of one launch
  double round_trip = 0;     ///< a tiny kernel, an event, and the wait for it
  bool host_was_ahead = true;  ///< if not, device_launch is the host's time
};

/// A copy of so many bytes between pinned memory and the device.
struct CopyCosts {
  std::size_t bytes = 0;
  double host = 0;                    ///< the host's, to queue a copy to the device
  double to_device = 0, to_host = 0;  ///< the device's, each
  double round_trip = 0;              ///< to the device, back, and the wait
};

/// A product, by the library's kernels and by cuBLAS.
struct ProductCosts {
  std::string kind;
  std::size_t rows = 0, inner = 0, columns = 0;
  double flops = 0, terms = 0;  ///< terms that a thread adds one by one
  double own = 0, cublas = 0;   ///< seconds; 0 without cuBLAS
};

class Measures {
 public:
  explicit Measures(Access& access);

  double bytes_per_second() const { return bytes_per_second_; }  ///< of a large copy, both ways
  CallCosts calls();
  std::vector<std::size_t> copy_sizes() const;
  CopyCosts copies(std::size_t bytes);
  /// Whether cuBLAS is available; if not, `why` says why.
  bool open_cublas(std::string& why);
  std::vector<std::size_t> column_counts() const;
  std::vector<std::pair<std::size_t, std::size_t>> matrices() const;
  /// The three products for one shape.
  std::vector<ProductCosts> products(std::size_t rows, std::size_t inner, std::size_t columns);

 private:
  /// Seconds of the device for the calls that `ask` queues, and of the host to queue them. The
  /// device is kept busy until all are queued.
  template <class Ask>
  double device_seconds(const Ask& ask, double* host = nullptr, bool* ahead = nullptr);
  void keep_busy(double seconds);
  void ask_tiny(std::size_t count);
  double host_call_seconds();
  double step_seconds(bool together);

  Access& access_;
  cuda::Mark first_, last_;
  std::size_t large_;
  void *from_, *to_;
  double copy_seconds_ = 0, bytes_per_second_ = 0;
  bool has_cublas_ = false;
  float* numbers_;
  ops::Signature tiny_;
};

/// The constants of the model. Products are counted without their launch, at 256 columns of the
/// largest matrix, or at the most columns that were measured.
Gpu gpu_of(const CallCosts& calls, const std::vector<CopyCosts>& copies,
           const std::vector<ProductCosts>& products, double bytes_per_second);

}  // namespace dynet_like::bench::gpu
