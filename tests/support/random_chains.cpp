// Records random chains.
#include "tests/support/random_chains.h"

namespace dynet_like::testing {

namespace {

constexpr unsigned kSize = 4;

/// A step. The program alone determines its ops and what they read, except the step's inputs,
/// integers and noise.
class StepRecorder {
 public:
  StepRecorder(ComputationGraph& graph, const RandomModel& model, std::uint64_t program,
               unsigned step, Random& sample, bool noise, bool dropout,
               std::vector<Expression>& all)
      : graph_(graph),
        model_(model),
        choice_(program * 1000 + step),
        step_(step),
        sample_(sample),
        noise_(noise),
        dropout_(dropout),
        all_(all) {}

  std::vector<Expression> record(const std::vector<Expression>& inputs) {
    values_ = inputs;
    const unsigned ops = 3 + choice_.below(12);
    const unsigned noisy = noise_ ? sample_.below(ops) : ops;
    for (unsigned i = 0; i < ops; ++i) {
      if (i == noisy) all_.push_back(tanh(values_[sample_.below(count())]));
      add(i == 0 ? product() : next());
    }
    const Expression a = values_[count() - 1], b = values_[count() - 1 - choice_.below(2)];
    add(tanh(a));  // so that numbers stay small
    add(sigmoid(b));
    return {values_[count() - 2], values_[count() - 1]};
  }

 private:
  unsigned count() const { return static_cast<unsigned>(values_.size()); }
  void add(const Expression& x) {
    values_.push_back(x);
    all_.push_back(x);
  }
  Expression any() { return values_[choice_.below(count())]; }
  Expression recent() { return values_[count() - 1 - choice_.below(std::min(count(), 4u))]; }

  Expression fresh_input(const Dim& dim) {
    std::vector<float> values(dim.size());
    for (float& value : values) value = static_cast<float>(2 * sample_.uniform() - 1);
    const Expression x = input(graph_, dim, values);
    if (dim.bd == 1) all_.push_back(x);
    return x;
  }

  Expression product() {
    const unsigned own = 3 * step_ + products_++ % 3;
    const Parameter weights = choice_.below(4) == 0 ? model_.w44 : model_.weights44[own];
    const Expression w =
        choice_.below(6) == 0 ? const_parameter(graph_, weights) : parameter(graph_, weights);
    const Expression b = parameter(graph_, model_.bias4);
    switch (choice_.below(4)) {
      case 0:
        return w * any();
      case 1:
        return affine_transform({b, w, recent()});
      case 2:
        return affine_transform({b, w, any(), parameter(graph_, model_.w47), wide()});
      default:
        return affine_transform({b, w, any(), w, recent()});
    }
  }

  Expression wide() {
    return affine_transform(
        {parameter(graph_, model_.bias7), parameter(graph_, model_.w74), any()});
  }

  // Products with the same right-hand sides, of 4 or 7 rows, which may share weights and biases.
  Expression gates() {
    const Expression x = any(), y = recent();
    const bool is_affine = choice_.below(2) == 0;
    Expression result = x;
    for (unsigned gates = 2 + choice_.below(3); gates > 0; --gates) {
      const bool is_wide = choice_.below(4) == 0;
      const auto weights = [&] { return is_wide ? parameter(graph_, model_.w74) : any_weights(); };
      const Expression b = parameter(graph_, is_wide ? model_.bias7 : model_.bias4), w = weights();
      Expression gate = is_affine ? affine_transform({b, w, y, weights(), x}) : w * y;
      if (is_wide) gate = parameter(graph_, model_.w47) * sigmoid(gate);
      add(gate);
      result = gates % 2 == 0 ? result + gate : cmult(result, sigmoid(gate));
    }
    return tanh(result);
  }
  // The same gates of two right-hand sides, like a tree node's of its two children.
  Expression gates_of_two() {
    const Expression sides[] = {any(), recent()};
    std::vector<Expression> weights;
    for (unsigned gates = 2 + choice_.below(2); gates > 0; --gates)
      weights.push_back(any_weights());
    const Expression b = parameter(graph_, model_.bias4);
    const bool is_affine = choice_.below(2) == 0;
    Expression result = sides[0];
    for (const Expression& side : sides) {
      for (const Expression& w : weights) {
        add(is_affine ? affine_transform({b, w, side}) : w * side);
        result = cmult(result, sigmoid(values_.back())) + tanh(values_.back());
      }
    }
    return tanh(result);
  }
  Expression any_weights() {
    const auto n = static_cast<unsigned>(model_.weights44.size());
    const Expression w = parameter(graph_, model_.weights44[choice_.below(n)]);
    switch (choice_.below(8)) {
      case 0:
        return transpose(w);
      case 1:
        return tanh(w);
      case 2:
        return nobackprop(w);
      default:
        return w;
    }
  }

  Expression next() {
    const Expression x = recent();
    switch (choice_.below(28)) {
      case 0:
      case 1:
      case 2:
        return product();
      case 3:
        return cmult(x, any());
      case 4:
        return x + any();
      case 5:
        return sum({x, any(), any()});
      case 6:
        return cmult(x, x);
      case 7:
        return pick_range(concatenate({x, any()}), 1, 1 + kSize);
      case 8:
        return concatenate({pick_range(x, 0, 2), pick_range(x, 2, kSize)});
      case 9:
        return concatenate({pick_range(x, 0, 3), pick(any(), 1)});
      case 10:
        return lookup(graph_, model_.table4, sample_.below(9)) - x;
      case 11:
        return nobackprop(x) + any() * 0.5f;
      case 12:
        return dropout_ ? dropout(x, 0.2f) : tanh(x);
      case 13:
        return softmax(x);
      case 14:
        return x + parameter(graph_, model_.bias4);
      case 15:
        return cmult(fresh_input({kSize}), x);
      case 16:
        return overlapping_views(x);
      case 17:  // several minibatch elements inside
        return sum_batches(tanh(cmult(fresh_input(Dim({kSize}, 3)), x))) * 0.3f;
      case 18:
        return x * static_cast<float>(sample_.uniform());
      case 19:
        return average({x, any(), x});
      case 20:
        return reshape(concatenate_cols({x, any()}) * tanh(pick_range(any(), 1, 3)), {kSize});
      case 21:
      case 22:
        return gates();
      case 23:
      case 24:
        return gates_of_two();
      default:
        return choice_.below(2) == 0 ? tanh(x) : sigmoid(x);
    }
  }

  Expression overlapping_views(const Expression& x) {
    const Expression both = choice_.below(2) == 0 ? concatenate({any(), x}) : concatenate({x, x});
    return cmult(pick_range(both, 0, kSize), pick_range(both, 2, 2 + kSize)) +
           pick_range(both, kSize, 2 * kSize);
  }

  ComputationGraph& graph_;
  const RandomModel& model_;
  Random choice_;
  unsigned step_, products_ = 0;
  Random& sample_;
  bool noise_, dropout_;
  std::vector<Expression>& all_;
  std::vector<Expression> values_;
};

// Two views of one node, which may overlap.
std::vector<Expression> views(const Expression& a, const Expression& b) {
  const Expression both = concatenate({a, b});
  const unsigned begin = b.i % 2 == 0 ? kSize : 2;
  return {pick_range(both, 0, kSize), pick_range(both, begin, begin + kSize)};
}

}  // namespace

RandomGraph record_random_chains(ComputationGraph& graph, const RandomModel& model,
                                 std::uint64_t program, std::uint64_t sample,
                                 const RandomChainsOptions& options, const RandomGraph& before) {
  Random random(sample);
  RandomGraph result = before;
  std::vector<Expression> states, losses;
  for (const Expression& x : before.all) {
    if (x.dim() == Dim({kSize})) states.push_back(x);
  }
  for (unsigned i = 0; i < 3; ++i) {
    std::vector<float> values(kSize);
    for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
    states.push_back(random.below(3) == 0 ? lookup(graph, model.table4, random.below(9))
                                          : input(graph, {kSize}, values));
  }
  if (random.below(4) == 0) states.push_back(parameter(graph, model.bias4));
  Random choice(options.regular ? program : sample + 1);
  const unsigned calls = 1 + choice.below(2 * options.calls);
  for (unsigned i = 0; i < calls; ++i) {
    const unsigned step = choice.below(options.steps);
    const auto state = [&] {
      const auto n = static_cast<unsigned>(states.size());
      return choice.below(4) == 0 ? states[choice.below(n)]
                                  : states[n - 1 - choice.below(std::min(n, 3u))];
    };
    const bool noise = options.noise && random.below(8) == 0;
    StepRecorder recorder(graph, model, program, step, random, noise, options.dropout, result.all);
    std::vector<Expression> inputs{state(), state()};
    if (choice.below(6) == 0) inputs[1] = inputs[0];
    if (choice.below(6) == 0) inputs = views(state(), state());
    for (const Expression& x : recorder.record(inputs)) states.push_back(x);
    if (choice.below(3) != 0) {
      losses.push_back(cross_entropy(parameter(graph, model.w74) * states.back(), random.below(7)));
      result.all.push_back(losses.back());
    }
    if (options.noise && random.below(6) == 0) states.push_back(tanh(state()));
  }
  losses.push_back(sum_elems(states.back()));
  result.loss = sum(losses);
  result.all.push_back(result.loss);
  return result;
}

}  // namespace dynet_like::testing
