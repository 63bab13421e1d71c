// GraphOptions: its destructor.
#include "dynet_like/exec/options.h"

namespace dynet_like {

GraphOptions::~GraphOptions() = default;

}  // namespace dynet_like
