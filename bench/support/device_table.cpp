// Columns of a device. Those of the GPU model have "predicted" in their names.
#include "bench/support/device_table.h"

#include <fmt/core.h>

namespace dynet_like::bench {

nlohmann::json device_columns(const Row& row, const Result& result, double host_seconds,
                              const GpuRange& range) {
  const DeviceWork& work = result.device;
  const PhaseWork all = work.all();
  const double fast = work.predicted_seconds(range.fast, host_seconds);
  const double slow = work.predicted_seconds(range.slow, host_seconds);
  return {{"device", default_device()->name()},
          {"launches", all.launches},
          {"meetings", all.meetings},
          {"forward_launches", work.forward.launches},
          {"backward_launches", work.backward.launches},
          {"update_launches", work.update.launches},
          {"forward_launches_per_batch", work.forward.launches / result.batches},
          {"backward_launches_per_batch", work.backward.launches / result.batches},
          {"copies_to_device", all.copies_to_device},
          {"forward_copies_to_device", work.forward.copies_to_device},
          {"backward_copies_to_device", work.backward.copies_to_device},
          {"update_copies_to_device", work.update.copies_to_device},
          {"bytes_to_device", all.bytes_to_device},
          {"copies_to_host", all.copies_to_host},
          {"bytes_to_host", all.bytes_to_host},
          {"synchronisations", all.synchronisations},
          {"allocations", all.allocations},
          {"fallbacks", all.fallbacks},
          {"device_bytes_in_use", work.bytes_in_use},
          {"device_peak_bytes", work.peak_bytes},
          {"product_flops", work.forward_flops * (row.train ? 3 : 1)},
          {"host_us", host_seconds * 1e6},
          {"busy_us", work.busy_seconds * 1e6},
          {"measured_us", row.batch / result.instances_per_s * 1e6},
          {"predicted_us_least", fast * 1e6},
          {"predicted_us_most", slow * 1e6},
          {"predicted_instances_per_s_most", row.batch / fast},
          {"predicted_instances_per_s_least", row.batch / slow}};
}

void print_device_table(const std::string& device, const nlohmann::json& rows,
                        const GpuRange& range) {
  fmt::print(
      "\nPer minibatch on {}. The last four columns are predicted, not measured: {}\n"
      "{:<48}{:>24}{:>14}{:>16}{:>10}{:>7}{:>7}{:>7}{:>8}{:>9}{:>10}{:>10}{:>18}{:>20}\n"
      "{:<48}{:>8}{:>8}{:>8}{:>7}{:>7}{:>8}{:>8}{:>10}{:>7}{:>7}{:>7}{:>8}{:>9}{:>10}{:>10}{:>9}{:>"
      "9}"
      "{:>10}{:>10}"
      "\n",
      device,
      range.is_measured ? "from measured constants."
                        : "from the best to the worst that\ncan be expected of an H100.",
      "row", "launches", "per batch", "copies", "bus", "waits", "allo-", "fall-", "memory", "host",
      "busy", "measured", "predicted", "inst/s", "", "forward", "backw.", "update", "forw.",
      "backw.", "to dev.", "to host", "kB", "", "cations", "backs", "MB", "us", "us", "us",
      "least us", "most us", "most", "least");
  for (const nlohmann::json& row : rows) {
    const auto get = [&](const char* key) { return row.at(key).get<double>(); };
    fmt::print(
        "{:<48}{:>8.0f}{:>8.0f}{:>8.0f}{:>7.2f}{:>7.2f}{:>8.1f}{:>8.1f}{:>10.1f}{:>7.1f}{:>7.1f}"
        "{:>7.1f}{:>8.1f}{:>9.0f}{:>10.0f}{:>10.0f}{:>9.0f}{:>9.0f}{:>10.0f}{:>10.0f}\n",
        row.at("row").get<std::string>(), get("forward_launches"), get("backward_launches"),
        get("update_launches"), get("forward_launches_per_batch"),
        get("backward_launches_per_batch"), get("copies_to_device"), get("copies_to_host"),
        (get("bytes_to_device") + get("bytes_to_host")) / 1e3, get("synchronisations"),
        get("allocations"), get("fallbacks"), get("device_bytes_in_use") / 1e6, get("host_us"),
        get("busy_us"), get("measured_us"), get("predicted_us_least"), get("predicted_us_most"),
        get("predicted_instances_per_s_most"), get("predicted_instances_per_s_least"));
  }
}

}  // namespace dynet_like::bench
