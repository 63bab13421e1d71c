// Records random graphs.
#include "tests/support/random_graph.h"

#include <algorithm>
#include <limits>

namespace dynet_like::testing {

namespace {

const std::vector<unsigned> kSizes = {1, 4, 7};

class Recorder {
 public:
  Recorder(ComputationGraph& graph, const RandomModel& model, std::uint64_t seed,
           const RandomGraphOptions& options, const RandomGraph& before)
      : graph_(graph), model_(model), random_(seed), options_(options), result_(before) {}

  RandomGraph record() {
    for (unsigned i = 0; i < 4; ++i) add_source();
    while (graph_.size() < options_.nodes) step();
    // The loss does not read everything: some nodes have no gradient.
    std::vector<Expression> terms;
    for (unsigned i = 0; i < 5; ++i) {
      terms.push_back(mean_elems(tanh(sum_batches(any()))));
    }
    terms.push_back(terms[0]);
    const Expression loss = sum(terms);
    result_.all.push_back(loss);
    result_.loss = loss;
    return result_;
  }

 private:
  Expression any() { return result_.all[random_.below(static_cast<unsigned>(result_.all.size()))]; }

  // Recent expressions make deep graphs; any() gives values with many readers.
  Expression recent() {
    const auto n = static_cast<unsigned>(result_.all.size());
    return random_.below(3) == 0 ? any() : result_.all[n - 1 - random_.below(std::min(n, 6u))];
  }

  Expression vector_of(unsigned size) {
    for (unsigned attempt = 0; attempt < 20; ++attempt) {
      const Expression x = attempt < 10 ? recent() : any();
      const Dim dim = x.dim();
      if (dim.nd == 1 && dim.d[0] == size) return x;
    }
    return fresh_input(Dim({size}, random_.below(4) == 0 ? 3 : 1));
  }

  float number() {
    if (options_.special_values && random_.below(6) == 0) {
      const float special[] = {-0.0f, 1e-42f, std::numeric_limits<float>::infinity(), 0.0f};
      return special[random_.below(4)];
    }
    return static_cast<float>(2 * random_.uniform() - 1);
  }

  Expression fresh_input(const Dim& dim) {
    std::vector<float> values(dim.size());
    for (float& value : values) value = number();
    return input(graph_, dim, values);
  }

  unsigned size() { return kSizes[random_.below(3)]; }
  void keep(const Expression& x) { result_.all.push_back(x); }

  void add_source() {
    switch (random_.below(6)) {
      case 0:
        return keep(lookup(graph_, model_.table4, random_.below(9)));
      case 1:
        return keep(lookup(graph_, model_.table7, {random_.below(9), 3, random_.below(9)}));
      case 2:
        return keep(const_lookup(graph_, model_.table7, random_.below(9)));
      case 3:
      case 4:
        if (!options_.derived) return keep(fresh_input(Dim({4})));
        if (random_.below(2) == 0) return keep(constant(graph_, Dim({size()}), number()));
        return keep(parameter(graph_, random_.below(2) == 0 ? model_.bias4 : model_.bias7));
      default:
        return keep(fresh_input(Dim({size()}, random_.below(3) == 0 ? 3 : 1)));
    }
  }

  void step() {
    switch (random_.below(8)) {
      case 0:
        return add_source();
      case 1:
        return add_product();
      case 2:
        return add_reduction();
      case 3:
        return add_view();
      case 4:
        return add_many();
      case 5:
        return add_binary();
      default:
        return add_unary();
    }
  }

  void add_unary() {
    const Expression x = recent();
    switch (random_.below(14)) {
      case 0:
        return keep(sigmoid(x));
      case 1:
        return keep(relu(x));
      case 2:
        return keep(exp(tanh(x)));
      case 3:
        return keep(log(square(x) + 0.5f));
      case 4:
        return keep(sqrt(sigmoid(x)));
      case 5:
        return keep(-x);
      case 6:
        return keep(x * number() + number());
      case 7:
        return keep(number() - x / 2.5f);
      case 8:
        return keep(softmax(x));
      case 9:
        return keep(log_softmax(x));
      case 10:
        return keep(options_.dropout ? dropout(x, 0.3f) : tanh(x));
      case 11:
        return keep(nobackprop(x));
      default:
        return keep(tanh(x));
    }
  }

  void add_binary() {
    const unsigned n = size();
    const Expression a = vector_of(n);
    const Expression b = random_.below(5) == 0 ? a : vector_of(random_.below(4) == 0 ? 1 : n);
    switch (random_.below(6)) {
      case 0:
        return keep(a - b);
      case 1:
        return keep(cmult(a, b));
      case 2:
        return keep(cdiv(a, square(b) + 1.0f));
      case 3:
        return keep(dot_product(a, vector_of(n)));
      case 4:
        return keep(squared_distance(a, a));
      default:
        return keep(a + b);
    }
  }

  Expression weight(const Parameter& w) {
    const Expression plain = parameter(graph_, w);
    if (!options_.derived || random_.below(3) != 0) {
      return random_.below(5) == 0 ? const_parameter(graph_, w) : plain;
    }
    return tanh(plain * 1.5f);
  }

  void add_product() {
    const Expression bias7 = parameter(graph_, model_.bias7), x4 = vector_of(4), x7 = vector_of(7);
    switch (random_.below(6)) {
      case 0:
        return keep(weight(model_.w44) * x4);
      case 1:
        return keep(tanh(weight(model_.w47) * x7));
      case 2:
        return keep(weight(model_.w74) * x4 + bias7);
      case 3:
        return keep(pick_range(weight(model_.w74), 0, 2, 1) * pick_range(x4, 1, 3));
      case 4:
        return keep(x4 * transpose(x7));  // an outer product, whose left side is not a parameter
      default:
        return keep(affine_transform({bias7, weight(model_.w74), x4, weight(model_.w77), x7}));
    }
  }

  void add_reduction() {
    const Expression x = recent();
    switch (random_.below(6)) {
      case 0:
        return keep(sum_elems(x));
      case 1:
        return keep(mean_elems(x));
      case 2:
        return keep(sum_batches(x));
      case 3:
        return keep(mean_dim(x, {0}));
      case 4:
        return keep(sum_dim(x, {x.dim().nd - 1}));
      default:
        return keep(cross_entropy(vector_of(7), random_.below(7)));
    }
  }

  void add_view() {
    const Expression x = recent();
    const Dim dim = x.dim();
    const unsigned n = dim.rows();
    switch (random_.below(7)) {
      case 0:
        return keep(pick(x, random_.below(n)));
      case 1:
        return keep(pick_range(x, random_.below(n), n));
      case 2:
        return keep(reshape(x, Dim({dim.size()})));
      case 3:
        return keep(reshape(x, Dim({1, dim.batch_size()}, dim.bd)));
      case 4:
        return keep(pick_batch_elem(x, random_.below(dim.bd)));
      case 5:
        return keep(dim.nd <= 2 ? transpose(x) : x);
      default:
        return keep(pick(vector_of(7), {random_.below(7), 0, random_.below(7)}));
    }
  }

  void add_many() {
    const unsigned n = size();
    std::vector<Expression> xs;
    for (unsigned i = 0; i < 2 + random_.below(4); ++i) xs.push_back(vector_of(n));
    xs.push_back(xs[0]);
    switch (random_.below(3)) {
      case 0:
        return keep(average(xs));
      case 1:
        return keep(pick_range(concatenate(xs), 0, n));
      default:
        return keep(sum(xs));
    }
  }

  ComputationGraph& graph_;
  const RandomModel& model_;
  Random random_;
  const RandomGraphOptions& options_;
  RandomGraph result_;
};

}  // namespace

RandomModel::RandomModel(DType dtype) : collection(7, dtype) {
  const auto add = [&](const Dim& dim, const char* name) {
    parameters.push_back(collection.add_parameters(dim, ParameterInitUniform(0.7f), name));
    return parameters.back();
  };
  bias4 = add({4}, "bias4");
  bias7 = add({7}, "bias7");
  w44 = add({4, 4}, "w44");
  w47 = add({4, 7}, "w47");
  w74 = add({7, 4}, "w74");
  w77 = add({7, 7}, "w77");
  for (unsigned i = 0; i < 9; ++i) weights44.push_back(add({4, 4}, "weights44"));
  table4 = collection.add_lookup_parameters(9, {4}, ParameterInitUniform(1.0f), "table4");
  table7 = collection.add_lookup_parameters(9, {7}, ParameterInitUniform(1.0f), "table7");
}

std::vector<float> RandomModel::all(const Gradients& gradients) const {
  std::vector<float> result;
  const auto append = [&](const std::vector<float>& values) {
    result.insert(result.end(), values.begin(), values.end());
  };
  for (const Parameter& parameter : parameters) append(gradients.values(parameter));
  for (const LookupParameter& table : {table4, table7}) {
    for (unsigned row = 0; row < table.rows(); ++row) append(gradients.values(table, row));
  }
  return result;
}

RandomGraph record_random_graph(ComputationGraph& graph, const RandomModel& model,
                                std::uint64_t seed, const RandomGraphOptions& options,
                                const RandomGraph& before) {
  return Recorder(graph, model, seed, options, before).record();
}

}  // namespace dynet_like::testing
