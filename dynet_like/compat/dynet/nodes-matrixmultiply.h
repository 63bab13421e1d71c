// DyNet's nodes-matrixmultiply.h. Matrix products, as node classes for add_function.
#pragma once

#include "dynet/function-node.h"

namespace dynet {

struct MatrixMultiply : detail::BinaryNode < dynet_like::operator*> {};

}  // namespace dynet
