// What people know nodes by.
#include "dynet_like/tape/labels.h"

#include "dynet_like/core/text.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like::detail {

const std::string& Tape::label_of(NodeId id) const {
  static const std::string none;
  const auto found = labels_.find(id);
  return found == labels_.end() ? none : found->second;
}

const std::string& Tape::name_of(NodeId id) const {
  const Op& op = *type_of(id).op;
  const std::string& label = label_of(id);
  if (op.role == Role::row && label.empty()) return name_of(values_[inputs_of(id)[0]].node);
  if (!op.is_parameter() || !label.empty()) return label;
  // A parameter that was given none has one that says nothing, such as "/_2".
  const std::string& name = storage_of(id).name;
  return name.find("/_", name.rfind('/')) == std::string::npos ? name : label;
}

std::string Tape::labels_of(std::span<const ValueId> values) const {
  constexpr int kMost = 8;
  std::string result;
  int shown = 0;
  for (ValueId value : values) {
    const std::string& label = name_of(values_[value].node);
    if (label.empty()) continue;
    if (shown++ == kMost) return result + ", ...";
    result +=
        (shown == 1 ? ", where " : ", ") + quoted_text(label) + " is " + to_string(dim_of(value));
  }
  return result;
}

}  // namespace dynet_like::detail
