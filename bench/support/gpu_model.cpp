// The formulas, and constants in files.
#include "bench/support/gpu_model.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "dynet_like/core/errors.h"

namespace dynet_like::bench {

namespace {

struct Constant {
  const char* name;
  double Gpu::*value;
};
constexpr Constant kConstants[] = {{"launch_seconds", &Gpu::launch_seconds},
                                   {"bytes_per_second", &Gpu::bytes_per_second},
                                   {"flops_per_second", &Gpu::flops_per_second},
                                   {"bus_bytes_per_second", &Gpu::bus_bytes_per_second},
                                   {"wait_seconds", &Gpu::wait_seconds},
                                   {"host_call_seconds", &Gpu::host_call_seconds},
                                   {"term_seconds", &Gpu::term_seconds},
                                   {"meeting_seconds", &Gpu::meeting_seconds},
                                   {"host_step_seconds", &Gpu::host_step_seconds}};

}  // namespace

nlohmann::json to_json(const Gpu& gpu) {
  nlohmann::json json;
  for (const Constant& constant : kConstants) json[constant.name] = gpu.*constant.value;
  return json;
}

Gpu gpu_of(const nlohmann::json& json) {
  Gpu gpu{};
  for (const Constant& constant : kConstants) {
    const bool is_there = json.contains(constant.name) && json[constant.name].is_number();
    if (is_there) gpu.*constant.value = json[constant.name].get<double>();
    if (gpu.*constant.value > 0) continue;
    throw UsageError("need a number above 0 for " + std::string(constant.name) + "; got " +
                     (is_there ? json[constant.name].dump() : "none"));
  }
  return gpu;
}

GpuRange read_constants(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw FileError(file.string(), "need a file that can be read");
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
  if (!json.is_object() || !json.contains("gpu") || !json["gpu"].is_object()) {
    throw UsageError("need a file of the program constants; got " + file.string());
  }
  const Gpu gpu = gpu_of(json["gpu"]);
  return {gpu, gpu, true};
}

double busy_seconds(const Gpu& gpu, const GpuWork& work) {
  const double memory = work.memory_bytes / gpu.bytes_per_second;
  const double products = work.flops / gpu.flops_per_second;
  const double chains = work.product_terms * gpu.term_seconds;
  return (work.launches + work.copies) * gpu.launch_seconds + work.meetings * gpu.meeting_seconds +
         std::max({memory, products, chains}) + work.bus_bytes / gpu.bus_bytes_per_second;
}

double asking_seconds(const Gpu& gpu, const GpuWork& work) {
  return (work.launches + work.copies) * gpu.host_call_seconds +
         work.meetings * gpu.host_step_seconds;
}

double predict_seconds(const Gpu& gpu, const GpuWork& forward, const GpuWork& rest,
                       double host_seconds) {
  const double until_forward =
      std::max(asking_seconds(gpu, rest) + host_seconds, busy_seconds(gpu, rest));
  return until_forward + std::max(asking_seconds(gpu, forward), busy_seconds(gpu, forward)) +
         (forward.waits + rest.waits) * gpu.wait_seconds;
}

}  // namespace dynet_like::bench
