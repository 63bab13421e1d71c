// What a user is told of cells that were not made.
#include "dynet_like/exec/cell_reasons.h"

namespace dynet_like::detail {

std::string_view words_of(CellReason reason) {
  switch (reason) {
    case CellReason::none:
      break;
    case CellReason::minibatch:
      return "some of these values have a minibatch dimension";
    case CellReason::argument_of_sample:
      return "an argument that a whole batch must share belongs to one sample";
    case CellReason::few_alike:
      return "too few of these read one another in the same way";
    case CellReason::calls:
      return "too few nodes for the kernel calls that cells of them would add";
    case CellReason::ops:
      return "begins like the cell, but goes on with other ops";
    case CellReason::links:
      return "begins like the cell, but reads other values";
    case CellReason::between:
      return "nodes that were recorded in between may read values of the cell";
    case CellReason::checkpoint:
      return "a checkpoint lies in between";
    case CellReason::ended:
      return "begins like the cell, but the sample ends, or a value was asked for in the middle";
    case CellReason::parameter:
      return "backward node by node: a parameter that a whole batch must share is used otherwise "
             "than as a matrix of a product, an addend or a row";
    case CellReason::unread:
      return "backward node by node: a result of the cell does not contribute to the loss";
    case CellReason::constant:
      return "backward node by node: a value of the cell needs no gradient";
    case CellReason::loss:
      return "backward node by node: a value in the middle of the cell is a loss";
    case CellReason::order:
      return "backward node by node: gradients are summed with others in a way that the cell "
             "cannot";
  }
  return "";
}

}  // namespace dynet_like::detail
