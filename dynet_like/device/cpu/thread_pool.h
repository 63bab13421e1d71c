// The name by which kernels know the threads that share their work.
#pragma once

#include "dynet_like/core/thread_pool.h"

namespace dynet_like::cpu {

using dynet_like::ThreadPool;

}  // namespace dynet_like::cpu
