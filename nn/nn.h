// All layers. The readers of data are in nn/data.
#pragma once

#include "nn/bidirectional.h"
#include "nn/crf.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/gru.h"
#include "nn/linear.h"
#include "nn/lstm.h"
#include "nn/stacked.h"
#include "nn/tree_lstm.h"
