// DyNet's except.h: exceptions, and the macros with which programs throw.
#pragma once

#include <sstream>
#include <stdexcept>

#include "dynet_like/core/errors.h"

// `message` is written to a stream: "need a word; got " << word.
#define DYNET_LIKE_THROW(Exception, message) \
  do {                                       \
    std::ostringstream dynet_message;        \
    dynet_message << message;                \
    throw Exception(dynet_message.str());    \
  } while (false)
#define DYNET_INVALID_ARG(message) DYNET_LIKE_THROW(std::invalid_argument, message)
#define DYNET_RUNTIME_ERR(message) DYNET_LIKE_THROW(std::runtime_error, message)
#define DYNET_ARG_CHECK(condition, message)       \
  do {                                            \
    if (!(condition)) DYNET_INVALID_ARG(message); \
  } while (false)
#define DYNET_ASSERT(condition, message)          \
  do {                                            \
    if (!(condition)) DYNET_RUNTIME_ERR(message); \
  } while (false)

namespace dynet {

using dynet_like::DeviceError;
using dynet_like::FileError;
using dynet_like::NumericError;
using dynet_like::ShapeError;
using dynet_like::StateError;
using dynet_like::UsageError;

// DyNet's names for a lack of resources.
using out_of_memory = dynet_like::DeviceError;
using cuda_not_implemented = dynet_like::DeviceError;
using cuda_exception = dynet_like::DeviceError;

}  // namespace dynet
