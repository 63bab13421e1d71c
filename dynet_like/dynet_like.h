// The whole library: graphs, operations, parameters, trainers, files.
#pragma once

#include "dynet_like/core/draw.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/largest.h"
#include "dynet_like/graph/cell.h"
#include "dynet_like/graph/for_each_sample.h"
#include "dynet_like/graph/minibatch.h"
#include "dynet_like/graph/recursion.h"
#include "dynet_like/io/checkpoint.h"
#include "dynet_like/io/model_file.h"
#include "dynet_like/io/text_model.h"
#include "dynet_like/ops/chains.h"
#include "dynet_like/ops/dynet_ops.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/params/gradients.h"
#include "dynet_like/params/parameter_collection.h"
#include "dynet_like/train/trainers.h"
