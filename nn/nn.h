// All layers. The readers of data are in nn/data.
#pragma once

#include "nn/bidirectional_lstm.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/gru.h"
#include "nn/linear.h"
#include "nn/lstm.h"
#include "nn/stacked_lstm.h"
#include "nn/structured/ctc.h"
#include "nn/structured/dependency_losses.h"
#include "nn/structured/dependency_trees.h"
#include "nn/structured/linear_chain_crf.h"
#include "nn/structured/minibatch_range.h"
#include "nn/structured/semi_markov_crf.h"
#include "nn/structured/span_crf.h"
#include "nn/tree_lstm.h"
