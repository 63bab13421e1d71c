// All layers. The readers of data are in nn/data.
#pragma once

#include "nn/activation.h"
#include "nn/bidirectional.h"
#include "nn/crf.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/gru.h"
#include "nn/highway.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/lstm.h"
#include "nn/mlp.h"
#include "nn/positions.h"
#include "nn/stacked.h"
#include "nn/tied_linear.h"
#include "nn/tree_lstm.h"
#include "nn/variational_dropout.h"
