// Memory for a program's own use, for every parameter of a collection.
#include "dynet/shadow-params.h"

namespace dynet {

namespace {

template <class Shadow, class Storage>
unsigned allocate(const std::vector<std::shared_ptr<Storage>>& all, unsigned allocated,
                  std::vector<Shadow>& target) {
  for (std::size_t i = allocated; i < all.size(); ++i) target.emplace_back(*all[i]);
  return static_cast<unsigned>(target.size());
}

}  // namespace

ShadowLookupParameters::ShadowLookupParameters(const LookupParameterStorage& table)
    : all_h(table.all_dim) {
  const std::size_t entry = table.dim.size();
  for (std::size_t row = 0; row * entry < all_h.d.size(); ++row) {
    h.push_back(dynet_like::Tensor(table.dim, all_h.v + row * entry));
  }
}

unsigned allocate_shadow_parameters(const ParameterCollection& model, unsigned allocated,
                                    std::vector<ShadowParameters>& target) {
  return allocate(model.get_storage().params, allocated, target);
}
unsigned allocate_shadow_lookup_parameters(const ParameterCollection& model, unsigned allocated,
                                           std::vector<ShadowLookupParameters>& target) {
  return allocate(model.get_storage().lookup_params, allocated, target);
}

}  // namespace dynet
