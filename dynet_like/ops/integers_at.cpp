// Reads integers from the user's memory.
#include "dynet_like/ops/integers_at.h"

#include <string>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like {

IntegersAt::List IntegersAt::now() const {
  if (one_ != nullptr) return {*one_};
  if (list_ != nullptr) return *list_;
  List all;
  if (lists_ == nullptr) return all;
  for (const List& list : *lists_) {
    if (list.size() != lists_->front().size()) {
      throw UsageError("[IntegersAt] need lists of one length; got " +
                       std::to_string(lists_->front().size()) + " and " +
                       detail::counted(list.size(), "integer"));
    }
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace dynet_like
