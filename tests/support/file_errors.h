// Errors in files, and data sets that may be on the machine.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "dynet_like/core/errors.h"

namespace dynet_like {

/// Expects a FileError at this place, 0 for none, whose message contains `part`. Without a column,
/// it may be any.
template <class Action>
void expect_file_error(const Action& action, std::size_t line, std::optional<std::size_t> column,
                       const std::string& part) {
  try {
    action();
    ADD_FAILURE() << "no error with " << part;
  } catch (const FileError& error) {
    EXPECT_EQ(error.line(), line) << error.what();
    EXPECT_EQ(error.column(), column.value_or(error.column())) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

/// A file of a data set, or "" if it is not in the folder that DYNET_LIKE_DATA names.
inline std::string data_file(const std::string& name) {
  const char* data = std::getenv("DYNET_LIKE_DATA");
  const std::filesystem::path found = std::filesystem::path(data != nullptr ? data : "") / name;
  return data != nullptr && std::filesystem::exists(found) ? found.string() : "";
}

}  // namespace dynet_like
