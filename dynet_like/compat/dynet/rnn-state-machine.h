// DyNet's rnn-state-machine.h: builders check the order of calls themselves.
#pragma once

#include "dynet/rnn.h"
