// Records random programs.
#include "tests/support/random_program.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "dynet_like/tape/vertices.h"

namespace dynet_like::testing {

namespace {

using State = std::array<Expression, 2>;
using Vertex = State(unsigned, const Expression&, const std::vector<State>&);

constexpr unsigned kSize = RandomParameters::kSize;
constexpr unsigned kNoColumn = Structure::kNoColumn;

Dim random_shape(Dice& dice) {
  static const std::array shapes{Dim({6}), Dim({2, 3}), Dim({3, 2}), Dim({6, 1}), Dim({1, 6})};
  return shapes[roll(dice, shapes.size())];
}

Expression vector_of(const Expression& x) { return reshape(x, Dim({kSize})); }

/// What a vertex of one kind does.
struct Body {
  const RandomParameters& model;
  std::uint64_t seed;
  bool draws, derives, overlaps;
  Dim first, second;  ///< the shapes of the states

  State operator()(unsigned kind, const Expression& x, const std::vector<State>& before) const;

 private:
  /// Used as a whole, by halves, or its first half alone.
  struct Part {
    Expression e;
    unsigned use;
  };
  using Values = std::vector<Part>;

  Expression operation(const Values& values, Dice& dice) const;
  Expression drawn(const Expression& a, Dice& dice) const;
  State results(const Values& values, Dice& dice) const;

  static Expression half(const Part& part, unsigned which, Dice& dice) {
    static const std::array shapes{Dim({3}), Dim({1, 3}), Dim({3, 1})};
    const Expression h = pick_range(vector_of(part.e), 3 * which, 3 * which + 3);
    const Expression read = reshape(h, shapes[roll(dice, 3)]);
    return reshape(roll(dice, 2) == 0 ? tanh(read) : read * 0.5f, Dim({3}));
  }
  static Expression read(const Part& part, Dice& dice) {
    if (part.use == 0) return part.e;
    const Expression first = half(part, 0, dice);
    return concatenate({first, half(part, part.use == 1, dice)});
  }
  /// Now and then as a constant, or what follows from it.
  Expression read(ComputationGraph& graph, const Parameter& p, Dice& dice) const {
    const unsigned how = roll(dice, derives ? 12 : 8);
    const Expression all = parameter(graph, p);
    if (how == 0) return const_parameter(graph, p);
    if (how == 1) return nobackprop(all);
    if (how == 8) return tanh(all);
    if (how == 9) return tanh(const_parameter(graph, p));
    if (how == 10) return nobackprop(tanh(all)) * 0.5f;
    if (how == 11) return all - 0.5f * const_parameter(graph, p);
    return all;
  }
  static Expression any(const Values& values, Dice& dice) {
    return read(values[roll(dice, static_cast<unsigned>(values.size()))], dice);
  }
  static Expression any(const Values& values, Dice& dice, const Dim& shape) {
    return reshape(any(values, dice), shape);
  }
};

State Body::operator()(unsigned kind, const Expression& x, const std::vector<State>& before) const {
  Dice dice(seed + 77 * kind);
  Values values;
  const auto add = [&](const Expression& e) {
    values.push_back({e, std::max(roll(dice, 5), 2u) - 2});
  };
  if (!x.empty()) add(x);
  for (const State& state : before) {
    for (const Expression& part : state) add(part);
  }
  const unsigned steps = 2 + roll(dice, 10);
  for (unsigned step = 0; step < steps; ++step) add(operation(values, dice));
  return results(values, dice);
}

Expression elementwise(const Expression& a, const Expression& b, Dice& dice) {
  switch (roll(dice, 18)) {
    case 0:
      return a - b;
    case 1:
      return cdiv(a, 2 + square(b));
    case 2:
      return 1 - a;
    case 3:
      return a + 0.25f;
    case 4:
      return a / 3;
    case 5:
      return -a;
    case 6:
      return relu(a);
    case 7:
      return log(1.5f + square(a));
    case 8:
      return sqrt(1 + square(a));
    case 9:
    case 10:
      return max(a, b);
    case 11:
    case 12:
      return a + b;
    case 13:
    case 14:
      return cmult(a, b);
    case 15:
      return cmult(sigmoid(a), nobackprop(b));
    case 16:
      return a * 0.75f;
    default:
      return tanh(a);
  }
}

Expression Body::operation(const Values& values, Dice& dice) const {
  ComputationGraph& graph = *values[0].e.pg;
  const Dim all({kSize}), wide({2, 3}), high({3, 2}), shape = random_shape(dice);
  const auto matrix = [&] { return read(graph, model.square[roll(dice, 3)], dice); };
  const auto bias = [&] { return read(graph, model.bias[roll(dice, 3)], dice); };
  switch (roll(dice, draws ? 16 : 14)) {
    case 0: {
      const Expression w = matrix();
      return w * any(values, dice, all);
    }
    case 1: {
      const Expression b = bias(), w = matrix(), u = matrix(), a = any(values, dice, all);
      return affine_transform({b, w, a, u, any(values, dice, all)});
    }
    case 2:
      return parameter(graph, model.twos) * any(values, dice, wide);
    case 3:
      return parameter(graph, model.threes) * any(values, dice, high);
    case 4: {  // the same argument on both sides, perhaps
      const Expression a = any(values, dice), b = roll(dice, 2) == 0 ? a : any(values, dice);
      const Expression four = reshape(reshape(a, wide) * reshape(b, high), Dim({4}));
      const Expression first = tanh(four);
      return concatenate({first, pick_range(tanh(four), 1, 3)});
    }
    case 5: {
      const Expression a = any(values, dice), b = bias();
      const Expression dot = reshape(a, Dim({1, kSize})) * vector_of(a);
      return tanh(b * reshape(dot, Dim({1})));
    }
    case 6:
      return softmax(any(values, dice, shape));
    case 7:
      return transpose(any(values, dice, wide));
    case 8: {
      const Expression gain = bias(), b = bias();
      return layer_norm(any(values, dice, all), gain, b);
    }
    case 14:
    case 15:
      return drawn(any(values, dice, shape), dice);
    default: {
      const Expression a = any(values, dice, shape), b = any(values, dice, shape);
      return elementwise(a, b, dice);
    }
  }
}

/// In inference, what dropout returns is the argument itself, which may be read in other parts.
Expression Body::drawn(const Expression& a, Dice& dice) const {
  ComputationGraph& graph = *a.pg;
  const Dim shape = a.dim();
  switch (roll(dice, 6)) {
    case 0:
      return a + random_normal(graph, shape);
    case 1:
      return a + random_uniform(graph, shape, -1, 1);
    case 2:
      return cmult(a, random_gumbel(graph, shape));
    case 3:
      return a + random_bernoulli(graph, shape, 0.5f);
    case 4:
      return reshape(noise(vector_of(a), 0.25f), shape) * 1.0f;
    default:
      dropout(a, 0.5f);  // needed by nobody
      return dropout(a, 0.3f) * 1.0f;
  }
}

/// Values, parts of one value that may overlap, and, where nothing is compared with direct calls,
/// whose results are not values of their own then, arguments as they are.
State Body::results(const Values& values, Dice& dice) const {
  const Expression a = any(values, dice), b = read(values.back(), dice);
  switch (overlaps ? roll(dice, 4) : 3) {
    case 0: {
      const Expression head = vector_of(tanh(a)), both = concatenate({head, vector_of(b)});
      const unsigned begin = 2 * roll(dice, 4);
      return {reshape(pick_range(both, 0, kSize), first),
              reshape(pick_range(both, begin, begin + kSize), second)};
    }
    case 1: {
      const Expression head = draws ? a : tanh(a);
      return {reshape(head, first), reshape(tanh(b), second)};
    }
    case 2: {
      const Expression c = tanh(b);
      return {reshape(c, first), reshape(c, second)};
    }
    default: {
      const Expression head = tanh(b);
      return {reshape(head, first), reshape(tanh(a), second)};
    }
  }
}

}  // namespace

RandomParameters::RandomParameters(DType dtype) : collection(5, dtype) {
  words = collection.add_lookup_parameters(kWords, {kSize});
  for (unsigned i = 0; i < 3; ++i) {
    square.push_back(collection.add_parameters({kSize, kSize}));
    bias.push_back(collection.add_parameters({kSize}, ParameterInitUniform(-1, 1)));
  }
  twos = collection.add_parameters({2, 2});
  threes = collection.add_parameters({3, 3});
}

RandomStructure::RandomStructure(std::uint64_t seed, bool with_equal_predecessors) {
  Dice dice(seed);
  const unsigned n = 1 + roll(dice, 7);
  std::vector<unsigned> name(n);  // of the vertices, predecessors first
  std::iota(name.begin(), name.end(), 0);
  const unsigned order = roll(dice, 6);
  if (order == 0) std::ranges::reverse(name);
  if (order == 1) std::ranges::shuffle(name, dice);
  const bool is_tree = roll(dice, 3) == 0, each_column_once = roll(dice, 2) == 0;
  vertices.resize(n);
  std::vector<unsigned> free;
  for (unsigned v = 0; v < n; ++v) {
    std::vector<unsigned>& before = vertices[name[v]].predecessors;
    for (unsigned left = v == 0 ? 0 : roll(dice, 4); left > 0; --left) {
      if (!is_tree) before.push_back(name[roll(dice, v)]);
      if (is_tree && !free.empty()) {
        const unsigned i = roll(dice, static_cast<unsigned>(free.size()));
        before.push_back(free[i]);
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (!with_equal_predecessors) {
      std::ranges::sort(before);
      before.erase(std::unique(before.begin(), before.end()), before.end());
    }
    free.push_back(name[v]);
    const bool reads = before.empty() || roll(dice, 2) == 0;
    vertices[name[v]].column = !reads ? kNoColumn : each_column_once ? words++ : roll(dice, 4);
    vertices[name[v]].kind = roll(dice, 2);
  }
  if (!each_column_once) words = 4;
}

struct RandomProgram::Functions {
  Functions(const RandomParameters& parameters, std::uint64_t its_seed, bool is_exact)
      : model(parameters), seed(its_seed), exact(is_exact) {
    Dice dice(seed);
    draws = roll(dice, 4) == 0;
    derives = !exact && roll(dice, 3) == 0;
    column = random_shape(dice);
    for (Dim& dim : states) dim = random_shape(dice);
    for (unsigned i = 0; i < 3; ++i) {
      const Body body{model, 1000 * seed + i, draws, derives, !exact, states[0], states[1]};
      plain.emplace_back(body);
      cells.emplace_back(body, "cell");
      if (i < 2) along.push_back(recursion<State>(body, i == 0 ? "first" : "second"));
    }
  }

  const RandomParameters& model;
  std::uint64_t seed;
  bool exact, draws = false, derives = false;
  Dim column;
  std::array<Dim, 2> states;
  std::vector<std::function<Vertex>> plain;
  std::vector<CellFunction<Vertex>> cells;
  std::vector<Recursion<State>> along;
};

/// Records a sample.
class RandomProgram::Recorder {
 public:
  Recorder(const Functions& functions, ComputationGraph& graph, unsigned number, Form form)
      : f_(functions),
        graph_(graph),
        form_(form),
        dice_(functions.seed ^ 0x5555),
        structure_(4 * functions.seed + number, !functions.exact) {
    record(number);
  }

  Sample result() {
    // Called directly, states have gradients, and a matrix of them has what reads that.
    std::vector<Expression>& to = form_ == Form::recursions ? sample_.watched : sample_.shown;
    to.insert(to.end(), matrices_.begin(), matrices_.end());
    return sample_;
  }

 private:
  struct Along {
    std::vector<State> each;
    State all;  // matrices, unless states are read one by one
    const State& last() const { return each.back(); }
  };

  void record(unsigned number) {
    std::vector<Expression> rows;
    for (unsigned i = 0; i < structure_.words; ++i) {
      rows.push_back(lookup(graph_, f_.model.words, (number + i) % RandomParameters::kWords));
    }
    const Expression words = tanh(concatenate_cols(rows));
    const Expression given = input(graph_, {kSize}, {0.5f, -1, 2, 0.25f, -0.5f, 1});
    const Expression first_start = tanh(given + parameter(graph_, f_.model.bias[0]));
    const State start = {reshape(first_start, f_.states[0]),
                         reshape(cmult(given, parameter(graph_, f_.model.bias[1])), f_.states[1])};
    read(words);
    for (const Expression& part : start) read(part);
    const bool begins = roll(dice_, 2) == 0;
    const Along first = along(0, words, begins ? &start : nullptr);
    read(first);
    const bool of_states =
        roll(dice_, 2) == 0;  // a state of every vertex: more than enough columns
    const unsigned which = roll(dice_, 2);
    const bool enough = !f_.exact && structure_.vertices.size() >= structure_.words;
    const Expression others = f_.exact ? sigmoid(concatenate_cols(rows)) : words;
    const Expression columns = of_states && enough ? first.all[which] : others;
    const Along second = along(1, columns, roll(dice_, 2) == 0 ? &first.last() : nullptr);
    read(second);
    std::vector<State> known = {start, first.last(), second.last()};
    call_cells(known);
    for (const Expression& part : known.back()) terms_.push_back(squared_norm(part));
    terms_.push_back(squared_norm(second.last()[0]));
    sample_.loss = sum(terms_);
  }

  /// Whose arguments others read, and that read each other's. Forms are exact if these differ.
  void call_cells(std::vector<State>& known) {
    for (unsigned i = 0; i < 3; ++i) {
      const auto count = static_cast<unsigned>(known.size()) - (f_.exact ? 1 : 0);
      const State a = known[roll(dice_, count)], b = known.back();
      const Expression x = reshape(a[roll(dice_, 2)], f_.column);
      const bool reads_both = roll(dice_, 3) == 0 && !f_.exact;
      const std::vector<State> before = reads_both ? std::vector{a, b} : std::vector{b};
      known.push_back(call(2, roll(dice_, 2), x, before));
      for (const Expression& part : known.back()) read(part);
    }
  }

  /// What others read, outside: as it is, and in another shape.
  void read(const Expression& e, bool is_matrix = false) {
    (is_matrix ? matrices_ : sample_.watched).push_back(e);
    const Dim shape = random_shape(dice_);
    for (unsigned i = roll(dice_, 3); i > 0; --i) {
      const bool as_it_is = roll(dice_, 2) == 0 || e.dim().size() != kSize;
      const Expression seen = as_it_is ? e : reshape(e, shape);
      terms_.push_back(roll(dice_, 2) == 0 ? squared_norm(seen) : sum_elems(tanh(seen)));
    }
  }
  void read(const Along& along) {
    const std::size_t first = f_.exact ? 0 : along.each.size() - 1;
    for (std::size_t v = first; v < along.each.size(); ++v) {
      for (const Expression& part : along.each[v]) read(part);
    }
    for (const Expression& part : along.all) {
      if (!f_.exact) read(part, true);
    }
  }

  Along along(unsigned number, const Expression& columns, const State* start) const {
    const unsigned n = columns.dim().size() / kSize;
    const auto size = static_cast<unsigned>(structure_.vertices.size());
    const Structure structure(structure_.vertices);
    Along result;
    if (form_ == Form::recursions) {
      Dim dim = f_.column;
      dim.add_dim(n);
      const Expression matrix = reshape(columns, dim);
      const States<State> states = start != nullptr ? f_.along[number](structure, matrix, *start)
                                                    : f_.along[number](structure, matrix);
      for (unsigned v = 0; v < size; ++v) result.each.push_back(states[v]);
      const State all = states.all();
      const Dim flat({kSize, size});
      if (!f_.exact) result.all = {reshape(all[0], flat), reshape(all[1], flat)};
      return result;
    }
    const Expression matrix = reshape(columns, Dim({kSize, n}));
    result.each.resize(size);
    for (unsigned turn = 0; turn < size; ++turn) {
      const unsigned v = structure.vertices()->vertex_at(turn);
      const Structure::Vertex& vertex = structure_.vertices[v];
      std::vector<State> before;
      for (unsigned p : vertex.predecessors) before.push_back(result.each[p]);
      if (before.empty() && start != nullptr) before = {*start};
      const Expression x = vertex.column == kNoColumn
                               ? Expression()
                               : reshape(pick(matrix, vertex.column, 1), f_.column);
      result.each[v] = call(number, vertex.kind, x, before);
    }
    if (f_.exact) return result;
    for (unsigned i = 0; i < 2; ++i) {
      std::vector<Expression> parts;
      for (const State& state : result.each) parts.push_back(vector_of(state[i]));
      result.all[i] = concatenate_cols(parts);
    }
    return result;
  }

  /// States have gradients of their own, whatever elements they have in common.
  State call(unsigned number, unsigned kind, const Expression& x,
             const std::vector<State>& before) const {
    if (form_ != Form::operations) return f_.cells[number](kind, x, before);
    State state = f_.plain[number](kind, x, before);
    for (Expression& part : state) part = f_.exact ? part : part * 1.0f;
    return state;
  }

  const Functions& f_;
  ComputationGraph& graph_;
  Form form_;
  Dice dice_;
  RandomStructure structure_;
  std::vector<Expression> terms_, matrices_;
  Sample sample_;
};

RandomProgram::RandomProgram(const RandomParameters& parameters, std::uint64_t seed, bool exact)
    : functions_(std::make_unique<Functions>(parameters, seed, exact)) {}
RandomProgram::~RandomProgram() = default;

bool RandomProgram::draws() const { return functions_->draws; }
bool RandomProgram::derives() const { return functions_->derives; }

Program RandomProgram::program(Form form, unsigned samples) const {
  const auto record = [this, form](ComputationGraph& graph, unsigned number) {
    return Recorder(*functions_, graph, number, form).result();
  };
  return {functions_->model.collection, record, samples, functions_->draws, functions_->derives};
}

}  // namespace dynet_like::testing
