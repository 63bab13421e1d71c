// The system's loader.
#include "dynet_like/device/cuda/loader.h"

#include <dlfcn.h>

namespace dynet_like::detail::cuda {

void* open_library(const char* name) { return ::dlopen(name, RTLD_NOW | RTLD_LOCAL); }

void* find_function(void* library, std::string_view name) {
  return ::dlsym(library, std::string(name).c_str());
}

std::string loader_error() {
  const char* const text = ::dlerror();
  return text == nullptr ? "no reason" : text;
}

}  // namespace dynet_like::detail::cuda
