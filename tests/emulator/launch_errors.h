// What the emulator finds of a launch.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/host/order.h"
#include "dynet_like/device/cuda/launch.h"
#include "tests/support/message_of.h"

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

namespace dynet_like::detail::cuda {

/// The error of a launch, the same in whatever order blocks and threads run; "nothing was thrown"
/// if there is none in one of the orders.
template <class... Parameters>
std::string error_of_launch(Runtime& runtime, const Shape& shape, Threads threads,
                            void (*kernel)(Parameters...),
                            std::type_identity_t<Parameters>... arguments) {
  std::string error;
  for (const host::Order order :
       {host::Order::ascending, host::Order::descending, host::Order::random}) {
    host::set_schedule({order, 5});
    error = message_of<DeviceError>([&] {
      launch<Parameters...>(runtime, shape, threads, kernel, arguments...);
      runtime.wait();
    });
    if (error == "nothing was thrown") break;
  }
  return error;
}

}  // namespace dynet_like::detail::cuda
