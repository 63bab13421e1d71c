// The work of a device for rows, as a table and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/support/measure.h"

namespace dynet_like::bench {

/// The columns of a device for one row, which are added to the row's object. `host_seconds`: the
/// host's time for recording and planning a minibatch.
nlohmann::json device_columns(const Row& row, const Result& result, double host_seconds,
                              const GpuRange& range);

/// Prints a table of rows that have these columns.
void print_device_table(const std::string& device, const nlohmann::json& rows,
                        const GpuRange& range);

}  // namespace dynet_like::bench
