// The memory and the executor of a graph that is in no minibatch.
#pragma once

#include <memory>

#include "dynet_like/exec/executor.h"
#include "dynet_like/tape/tape_writer.h"

namespace dynet_like::detail {

/// What such a graph records on, and what runs it. A later graph can take it over.
struct GraphMemory {
  explicit GraphMemory(const GraphOptions& options)
      : types(std::make_shared<TypeTable>()),
        cache(*types),
        writer(types, cache, options.dtype),
        executor(options) {}

  std::shared_ptr<TypeTable> types;
  TypeCache cache;
  TapeWriter writer;
  Executor executor;
};

}  // namespace dynet_like::detail
