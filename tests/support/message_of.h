// The message of an expected exception.
#pragma once

#include <string>

namespace dynet_like {

/// The message of the Error that the action throws, or "nothing was thrown".
template <class Error, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace dynet_like
