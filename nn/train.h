// All of the training layer: runs, schedules, batched prediction, metrics, learning curves.
#pragma once

#include "nn/evaluate/bleu.h"
#include "nn/evaluate/metrics.h"
#include "nn/evaluate/predict.h"
#include "nn/evaluate/span_scores.h"
#include "nn/train/best_model.h"
#include "nn/train/event_file.h"
#include "nn/train/group_schedule.h"
#include "nn/train/interrupt.h"
#include "nn/train/learning_curve.h"
#include "nn/train/progress_bar.h"
#include "nn/train/saved_model.h"
#include "nn/train/schedules.h"
#include "nn/train/train.h"
#include "nn/train/training_run.h"
