// How an encoder is fine-tuned: groups of its parameters, and low-rank adapters.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/encoders/encoder.h"
#include "nn/encoders/encoder_parameters.h"

namespace dynet_like::nn {

using namespace encoders;

namespace {

bool has_adapter(const EncoderTensor& tensor) {
  return is_in_layers(tensor.part) && !tensor.is_table && tensor.shape.size() == 2;
}

// The place of a tensor from the embeddings, 0, to the last layer.
unsigned level_of(const EncoderTensor& tensor, unsigned layers) {
  if (tensor.part == Part::final_norm) return layers;
  return is_in_layers(tensor.part) ? tensor.layer + 1 : 0;
}

}  // namespace

bool encoders::has_unmerged_adapters(const EncoderParameters& own) {
  for (const Parts& layer : own.layers) {
    for (const PartParameters& part : layer) {
      if (part.adapter_b.p == nullptr) continue;
      const std::vector<float> numbers = as_vector(part.adapter_b.p->tensor());
      if (std::ranges::any_of(numbers, [](float number) { return number != 0; })) return true;
    }
  }
  return false;
}

std::vector<ParameterGroup> Encoder::groups(const FineTuning& how) const {
  const unsigned layers = config().layers;
  if (how.frozen > layers + 1 || !(how.layer_decay > 0 && how.layer_decay <= 1)) {
    throw UsageError(
        fmt::format("[Encoder] need at most {} that are frozen, and 0 < layer_decay <= 1; got {} "
                    "and {}",
                    dynet_like::detail::counted(layers + 1, "part"), how.frozen, how.layer_decay));
  }
  const unsigned frozen = parameters_->adapter_scale > 0 ? layers + 1 : how.frozen;
  std::vector<ParameterGroup> groups;
  std::set<std::string> known;
  for (const EncoderTensor& tensor : tensors_of(*parameters_->family, config())) {
    const unsigned level = level_of(tensor, layers);
    const std::string name = parameters_->storage_of(tensor)->name;
    const std::string folder = name.substr(0, name.rfind('/')) + "/*";
    if (known.insert(folder).second) {
      const float rate = how.rate * std::pow(how.layer_decay, static_cast<float>(layers - level));
      groups.push_back({.pattern = folder, .rate = rate, .frozen = level < frozen});
    }
    const bool is_matrix = tensor.is_table || tensor.shape.size() == 2;
    if (!is_matrix) groups.push_back({.pattern = name, .weight_decay = 0});
  }
  for (const ParameterGroup& group : groups) group.check();
  return groups;
}

Encoder Encoder::with_adapters(ParameterCollection& model, const AdapterOptions& options) const {
  if (parameters_->adapter_scale > 0 || options.rank == 0 ||
      !(std::isfinite(options.scale) && options.scale > 0)) {
    throw UsageError(fmt::format(
        "[Encoder] need an encoder without adapters, a rank from 1 and a finite scale above 0; got "
        "{}rank {} and scale {}",
        parameters_->adapter_scale > 0 ? "one with adapters, " : "", options.rank, options.scale));
  }
  const auto own = std::make_shared<EncoderParameters>(*parameters_);
  own->adapter_scale = options.scale;
  ParameterCollection all = add_layer(model, options.name, "adapters"), layer = all;
  unsigned layers = 0;
  for (const EncoderTensor& tensor : tensors_of(*own->family, config())) {
    if (!has_adapter(tensor)) continue;
    if (tensor.layer == layers) layer = all.add_subcollection("layer_" + std::to_string(layers++));
    const auto outputs = static_cast<unsigned>(tensor.shape[0]),
               inputs = static_cast<unsigned>(tensor.shape[1]);
    PartParameters& part = own->layers[tensor.layer][static_cast<std::size_t>(tensor.part)];
    ParameterCollection folder = layer.add_subcollection(tensor.folder);
    part.adapter_a = folder.add_parameters(
        {options.rank, inputs}, ParameterInitNormal(0, 1 / static_cast<float>(inputs)), "A");
    part.adapter_b = folder.add_parameters({outputs, options.rank}, ParameterInitConst(0), "B");
  }
  Encoder result(*this);
  result.parameters_ = own;
  return result;
}

void Encoder::merge_adapters() const {
  for (const Parts& layer : parameters_->layers) {
    for (const PartParameters& part : layer) {
      if (part.adapter_a.p == nullptr) continue;
      ComputationGraph graph;
      const Expression sum = parameter(graph, part.weights) + parameter(graph, part.adapter_b) *
                                                                  part.adapter_a *
                                                                  parameters_->adapter_scale;
      const Tensor merged = sum.value(), weights = part.weights.p->tensor_to_fill();
      for (std::size_t i = 0; i < weights.d.size(); ++i) weights.set(i, merged.at(i));
      part.weights.p->values_written();
      part.adapter_b.zero();
    }
  }
}

}  // namespace dynet_like::nn
