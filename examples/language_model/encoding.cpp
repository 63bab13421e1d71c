// The two levels of a text by their names.
#include "examples/language_model/encoding.h"

#include "dynet_like/core/errors.h"

namespace dynet_like::examples {

nn::TextUnit unit_of(const std::string& level) {
  if (level == "character") return nn::TextUnit::character;
  if (level == "word") return nn::TextUnit::word;
  throw UsageError("need \"character\" or \"word\" for --level; got \"" + level + '"');
}

}  // namespace dynet_like::examples
