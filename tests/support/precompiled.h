// Headers that nearly every test includes, compiled once for all test programs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <ranges>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/device/queue.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/dynet_like.h"
#include "dynet_like/tape/tape_writer.h"
#include "nn/nn.h"

// Tests use internals.
namespace dynet_like {
namespace detail {}
using namespace detail;
}  // namespace dynet_like
