// States that consist of outputs and cells; LSTMs with peepholes and coupled gates.
#include "dynet/cell-builder.h"

namespace dynet::detail {

namespace {

std::vector<Expression> joined(const std::vector<Expression>& a, const std::vector<Expression>& b) {
  std::vector<Expression> result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

}  // namespace

std::vector<Expression> CellBuilder::final_s() const {
  return c.empty() ? joined(c0, h0) : joined(c.back(), h.back());
}

std::vector<Expression> CellBuilder::get_s(RNNPointer i) const {
  check_state(i);
  return joined(i < 0 ? c0 : c[static_cast<std::size_t>(i)], get_h(i));
}

void CellBuilder::start_new_sequence_impl(const std::vector<Expression>& h_0) {
  if (!h_0.empty()) check_count("initial state", h_0.size(), num_h0_components());
  const auto middle = h_0.begin() + static_cast<std::ptrdiff_t>(h_0.size() / 2);
  LayeredBuilder::start_new_sequence_impl({middle, h_0.end()});
  c.clear();
  c0.assign(h_0.begin(), middle);
  has_initial_state = !h_0.empty();
}

Expression CellBuilder::add_input_impl(int prev, const Expression& x) {
  std::vector<Expression> outputs, cells;
  for (unsigned layer = 0; layer < layers; ++layer) {
    const Expression in = layer == 0 ? x : input_of(layer, x, outputs.back());
    const CellState state = cell(layer, in, prev);
    outputs.push_back(state.h);
    cells.push_back(state.c);
  }
  h.push_back(std::move(outputs));
  c.push_back(std::move(cells));
  return h.back().back();
}

Expression CellBuilder::set_h_impl(int prev, const std::vector<Expression>& h_new) {
  std::vector<Expression> cells;
  for (unsigned layer = 0; layer < layers; ++layer) cells.push_back(c_before(prev, layer));
  const Expression output = LayeredBuilder::set_h_impl(prev, h_new);
  c.push_back(std::move(cells));
  return output;
}

Expression CellBuilder::set_s_impl(int prev, const std::vector<Expression>& s_new) {
  if (s_new.empty()) return set_h_impl(prev, {});
  if (s_new.size() != layers) check_count("state", s_new.size(), 2 * layers);
  const auto end_of_cells = s_new.begin() + static_cast<std::ptrdiff_t>(layers);
  const Expression output = LayeredBuilder::set_h_impl(prev, {end_of_cells, s_new.end()});
  c.emplace_back(s_new.begin(), end_of_cells);
  return output;
}

Expression CellBuilder::input_of(unsigned, const Expression&, const Expression& below) {
  return below;
}

Expression CellBuilder::c_before(int prev, unsigned layer) const {
  if (prev >= 0) return c[static_cast<std::size_t>(prev)][layer];
  return c0.empty() ? zero_state() : c0[layer];
}

namespace {

enum { X2I, H2I, C2I, BI, X2O, H2O, C2O, BO, X2C, H2C, BC };

}  // namespace

CoupledCells::CoupledCells(unsigned layer_count, unsigned input_size, unsigned hidden_size,
                           ParameterCollection& model, const std::string& name, Peepholes peepholes,
                           unsigned skipped)
    : CellBuilder(layer_count, input_size, hidden_size, model.add_subcollection(name)),
      peepholes_(peepholes) {
  const unsigned peephole_columns = peepholes == Peepholes::unread ? 1 : hid;
  for (unsigned layer = 0; layer < layers; ++layer) {
    const unsigned inputs = inputs_of(layer) + (layer == 0 ? 0 : skipped);
    std::vector<Parameter> all;
    const auto add = [&](const Dim& dim) { all.push_back(local_model.add_parameters(dim)); };
    const auto add_block = [&](bool peephole) {
      add({hid, inputs});
      add({hid, hid});
      if (peephole) add({hid, peephole_columns});
      all.push_back(local_model.add_parameters({hid}, ParameterInitConst(0)));
    };
    add_block(true);
    add_block(true);
    add_block(false);
    params.push_back(std::move(all));
  }
}

CellState CoupledCells::cell(unsigned layer, const Expression& input, int prev) {
  const std::vector<Expression>& w = param_vars[layer];
  const Expression x = seen_input(layer, input);
  const Expression before = c_before(prev, layer);
  Expression output = h_before(prev, layer), memory = before;
  if (has_state(prev)) {
    output = seen_output(layer, output);
    memory = seen_cell(layer, memory);
  }
  std::vector<Expression> into_i = {w[BI], w[X2I], x, w[H2I], output};
  if (peepholes_ != Peepholes::unread) into_i.insert(into_i.end(), {w[C2I], memory});
  const Expression i = logistic(affine_transform(into_i));
  const Expression candidate = tanh(affine_transform({w[BC], w[X2C], x, w[H2C], output}));
  const Expression c_new = before + cmult(i, candidate - before);
  std::vector<Expression> into_o = {w[BO], w[X2O], x, w[H2O], output};
  if (peepholes_ == Peepholes::always ||
      (peepholes_ == Peepholes::after_first && has_state(prev))) {
    into_o.insert(into_o.end(), {w[C2O], seen_cell(layer, c_new)});
  }
  const Expression o = logistic(affine_transform(into_o));
  return {cmult(o, tanh(c_new)), c_new};
}

Expression CoupledCells::seen_input(unsigned, const Expression& x) const {
  return dropout_rate > 0 ? dropout(x, dropout_rate) : x;
}

}  // namespace dynet::detail
