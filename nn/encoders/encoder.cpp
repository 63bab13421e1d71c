// Encoder: its parameters, and what it records for a sequence.
#include "nn/encoders/encoder.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/encoders/encoder_parameters.h"
#include "nn/encoders/relative_positions.h"

namespace dynet_like::nn {

using namespace encoders;

namespace {

// Adds a parameter, or a table, to the collection of its part.
void add(ParameterCollection& folder, const EncoderTensor& tensor, const ParameterInit& matrices,
         PartParameters& own) {
  const auto size = [&](std::size_t i) { return static_cast<unsigned>(tensor.shape[i]); };
  if (tensor.is_table) {
    own.table = folder.add_lookup_parameters(size(0), {size(1)}, matrices, tensor.name);
  } else if (tensor.shape.size() == 2) {
    own.weights = folder.add_parameters({size(0), size(1)}, matrices, tensor.name);
  } else {
    const ParameterInitConst init(tensor.is_bias ? 0 : 1);
    (tensor.is_bias ? own.bias : own.weights) = folder.add_parameters({size(0)}, init, tensor.name);
  }
}

EncoderParameters make_parameters(ParameterCollection own, const EncoderConfig& config) {
  const float deviation = config.initial_deviation;
  const ParameterInitNormal random(0, deviation * deviation);
  const ParameterInitConst none(0);
  const ParameterInit& matrices = deviation > 0 ? static_cast<const ParameterInit&>(random) : none;
  EncoderParameters result{
      config, find_family(config.model_type), find_activation(config.activation), {}, {}};
  result.layers.resize(config.layers);
  ParameterCollection layer = own, folder = own;
  const std::vector<EncoderTensor> tensors = tensors_of(*result.family, config);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const EncoderTensor& tensor = tensors[i];
    const EncoderTensor* const last = i == 0 ? nullptr : &tensors[i - 1];
    const bool in_layers = is_in_layers(tensor.part);
    const bool is_new_layer =
        in_layers && (!is_in_layers(last->part) || last->layer != tensor.layer);
    if (is_new_layer) layer = own.add_subcollection("layer_" + std::to_string(tensor.layer));
    if (!tensor.is_bias) folder = (in_layers ? layer : own).add_subcollection(tensor.folder);
    Parts& parts = in_layers ? result.layers[tensor.layer] : result.common;
    add(folder, tensor, matrices, parts[static_cast<std::size_t>(tensor.part)]);
  }
  return result;
}

// Records an encoder for one sequence. Columns are minibatch elements, {size} each.
class Pass {
 public:
  Pass(const EncoderParameters& own, ComputationGraph& graph, ListOf<std::uint32_t> ids,
       ListOf<std::uint32_t> types)
      : own_(own),
        config_(own.config),
        graph_(graph),
        ids_(ids.begin(), ids.end()),
        types_(types.begin(), types.end()) {
    if (types_.empty()) types_.resize(ids_.size());
    if (own.family->positions == Positions::rotary) {
      global_ = Rotation(graph, config_, count(), config_.global_theta);
      local_ = Rotation(graph, config_, count(), config_.local_theta);
    }
    if (own.family->positions == Positions::distances) {
      const Expression table = parameter(graph, own.of(Part::distances).table);
      distances_ = norm(own.of(Part::distance_norm), table);
    }
    if (own.family->positions == Positions::table_and_biases) {
      biases_ = biases_of_distances(parameter(graph, own.of(Part::distance_biases).table), count());
    }
  }

  Expression embed() const {
    std::vector<Expression> terms;
    const auto add = [&](Part part, const std::vector<unsigned>& rows, bool has_padding) {
      const LookupParameter& table = own_.of(part).table;
      if (table.p == nullptr) return;
      const Expression x = lookup(graph_, table, rows);
      terms.push_back(has_padding ? without_gradient_of_padding(x, table, rows) : x);
    };
    add(Part::words, ids_, true);
    add(Part::positions, places(), own_.family->counts_from_padding);
    add(Part::token_types, types_, false);
    const Expression x = norm(own_.of(Part::embedding_norm), sum(terms));
    const PartParameters& projection = own_.of(Part::projection);
    const Expression y = dropout(x, config_.embedding_dropout);
    return projection.weights.p == nullptr ? y : map(projection, y);
  }

  Expression layer(unsigned i, const Expression& x) const {
    const auto part = [&](Part name) -> const PartParameters& { return own_.of(name, i); };
    const PartParameters &first_norm = part(Part::attention_norm),
                         &second_norm = part(Part::network_norm);
    if (own_.family->norm_first) {
      const Expression y =
          x + dropout(attend(i, norm(first_norm, x)), config_.attention_output_dropout);
      return y + dropout(network(i, norm(second_norm, y)), config_.network_dropout);
    }
    const Expression y =
        norm(first_norm, x + dropout(attend(i, x), config_.attention_output_dropout));
    return norm(second_norm, y + dropout(network(i, y), config_.network_dropout));
  }

  Expression last(const Expression& x) const { return norm(own_.of(Part::final_norm), x); }

  Expression as_matrix(const Expression& x) const { return reshape(x, {config_.size, count()}); }

 private:
  unsigned count() const { return static_cast<unsigned>(ids_.size()); }

  // The rows of the table of positions. Where these begin behind padding's, a piece of padding has
  // that row, and does not count.
  std::vector<unsigned> places() const {
    std::vector<unsigned> rows(count());
    std::iota(rows.begin(), rows.end(), 0u);
    if (!own_.family->counts_from_padding) return rows;
    unsigned last = config_.padding;
    for (unsigned i = 0; i < count(); ++i) {
      rows[i] = ids_[i] == config_.padding ? config_.padding : ++last;
    }
    return rows;
  }

  // The row of padding is not trained, as in transformers.
  Expression without_gradient_of_padding(const Expression& x, const LookupParameter& table,
                                         const std::vector<unsigned>& rows) const {
    if (std::ranges::count(ids_, config_.padding) == 0) return x;
    std::vector<float> is_padding;
    for (const unsigned id : ids_) is_padding.push_back(id == config_.padding ? 1 : 0);
    return where(input(graph_, Dim({1}, count()), is_padding), const_lookup(graph_, table, rows),
                 x);
  }

  Expression map(const PartParameters& part, const Expression& x) const {
    Expression y =
        part.bias.p == nullptr ? part.weights * x : affine_transform({part.bias, part.weights, x});
    if (part.adapter_a.p == nullptr) return y;
    return affine_transform({y, part.adapter_b, part.adapter_a * x * own_.adapter_scale});
  }

  // x itself if the encoder lacks this norm.
  Expression norm(const PartParameters& part, const Expression& x) const {
    if (part.weights.p == nullptr) return x;
    const Expression bias =
        part.bias.p == nullptr ? zeros(graph_, part.weights.dim()) : Expression(part.bias);
    return layer_norm(x, part.weights, bias, config_.norm_epsilon);
  }

  Expression attend(unsigned i, const Expression& x) const {
    const auto map_by = [&](Part part, const Expression& y) { return map(own_.of(part, i), y); };
    AttentionOptions options{.heads = config_.heads, .dropout = config_.attention_dropout};
    Expression result;
    if (own_.family->positions == Positions::rotary) {
      const bool is_local = i % config_.global_every != 0;
      if (is_local) options.reach = config_.window / 2;
      const Expression all = (is_local ? local_ : global_)(map_by(Part::query_key_value, x));
      const auto third = [&](unsigned k) {
        return as_matrix(pick_range(all, k * config_.size, (k + 1) * config_.size));
      };
      result = attention(third(0), third(1), third(2), options);
    } else {
      const Expression q = map_by(Part::query, x), k = map_by(Part::key, x),
                       v = map_by(Part::value, x);
      switch (own_.family->positions) {
        case Positions::distances:
          result = attend_by_distances(
              {q, k, v, map_by(Part::query, distances_), map_by(Part::key, distances_)}, config_);
          break;
        case Positions::table_and_biases:
          result = attend_with_biases({q, k, v, {}, {}}, biases_, config_);
          break;
        default:
          result = attention(as_matrix(q), as_matrix(k), as_matrix(v), options);
      }
    }
    return map_by(Part::attention_output, reshape(result, Dim({config_.size}, count())));
  }

  Expression network(unsigned i, const Expression& x) const {
    const PartParameters &up = own_.of(Part::up, i), &both = own_.of(Part::up_and_gates, i);
    const auto hidden = [&] {
      if (both.weights.p == nullptr) return own_.activation(map(up, x));
      const Expression y = map(both, x), gates = pick_range(y, config_.hidden, 2 * config_.hidden);
      return cmult(own_.activation(pick_range(y, 0, config_.hidden)), gates);
    };
    return map(own_.of(Part::down, i), dropout(hidden(), config_.hidden_dropout));
  }

  const EncoderParameters& own_;
  const EncoderConfig& config_;
  ComputationGraph& graph_;
  std::vector<unsigned> ids_, types_;
  Rotation global_, local_;
  Expression distances_, biases_;
};

// Throws UsageError unless the encoder can read this sequence.
void check(const EncoderConfig& config, unsigned most, ListOf<std::uint32_t> ids,
           ListOf<std::uint32_t> types) {
  if (ids.size() == 0) throw UsageError("[Encoder] need at least 1 id; got 0");
  if (most > 0 && ids.size() > most) {
    throw UsageError(
        fmt::format("[Encoder] need at most {}, the positions of this {}; got {}: split the text, "
                    "or use a TextEncoder",
                    dynet_like::detail::counted(most, "piece"), config.model_type, ids.size()));
  }
  for (const std::uint32_t id : ids) {
    if (id < config.vocabulary) continue;
    throw UsageError(fmt::format("[Encoder] need ids below {}, the vocabulary of this {}; got {}",
                                 config.vocabulary, config.model_type, id));
  }
  if (types.size() > 0 && types.size() != ids.size()) {
    throw UsageError(
        fmt::format("[Encoder] need as many types as ids, {}; got {}", ids.size(), types.size()));
  }
  for (const std::uint32_t type : types) {
    if (type < std::max(config.token_types, 1u)) continue;
    throw UsageError(fmt::format("[Encoder] need types below {}, those of this {}; got {}",
                                 std::max(config.token_types, 1u), config.model_type, type));
  }
}

}  // namespace

Encoder::Encoder(ParameterCollection& model, const EncoderConfig& config,
                 const LayerOptions& options) {
  config.check();
  parameters_ = std::make_shared<EncoderParameters>(
      make_parameters(add_layer(model, options.name, "encoder"), config));
}

Encoder Encoder::without_weights(ParameterCollection& model, const EncoderConfig& config,
                                 const LayerOptions& options) {
  EncoderConfig zeros = config;
  zeros.initial_deviation = 0;
  Encoder encoder(model, zeros, options);
  encoder.parameters_->config = config;
  return encoder;
}

Expression Encoder::operator()(ComputationGraph& graph, ListOf<std::uint32_t> ids,
                               ListOf<std::uint32_t> types) const {
  const std::size_t first = graph.size();
  const Expression result = layers(graph, ids, types).back();
  if (graph.size() > first) graph.forget_values(first, graph.size() - 1);  // all but the result
  return result;
}

std::vector<Expression> Encoder::layers(ComputationGraph& graph, ListOf<std::uint32_t> ids,
                                        ListOf<std::uint32_t> types) const {
  check(config(), most_pieces(), ids, types);
  const Pass pass(*parameters_, graph, ids, types);
  Expression x = pass.embed();
  std::vector<Expression> results = {pass.as_matrix(x)};
  for (unsigned i = 0; i < config().layers; ++i) {
    x = pass.layer(i, x);
    if (i + 1 == config().layers) x = pass.last(x);
    results.push_back(pass.as_matrix(x));
  }
  return results;
}

const EncoderConfig& Encoder::config() const { return parameters_->config; }

unsigned Encoder::most_pieces() const {
  const EncoderConfig& config = parameters_->config;
  const Family& family = *parameters_->family;
  if (family.positions == Positions::distances) return 0;
  return config.positions - (family.counts_from_padding ? config.padding + 1 : 0);
}

}  // namespace dynet_like::nn
