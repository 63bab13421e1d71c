// What a graph of its own works with.
#pragma once

#include <memory>

#include "dynet_like/exec/executor.h"
#include "dynet_like/tape/tape_writer.h"

namespace dynet_like::detail {

/// Where a graph records, and what runs it. A later graph can begin with what a graph has left.
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
