// The pointwise part of LSTM and GRU cells, over any number type. Included once for each target.
//
// The includer provides a namespace, the macro LANE (the function attributes of its target) and,
// for its number type, the arithmetic operators, sigmoid, tanh and fused(a, b, c) = a * b + c.
// `here` stands for one or several adjacent elements of the vectors of a cell: here.load(vector)
// reads them, here.store(numbers, vector) and here.put(numbers, vector, add) write them.

template <class T>
LANE T one_minus(T x) {
  return T(1) - x;
}

/// Item number `item` of consecutive items, or null if there are none.
template <class E>
LANE E* item_of(E* all, std::size_t item, std::size_t size) {
  return all == nullptr ? nullptr : all + item * size;
}

/// One element of a cell with `children`. sum(row) is the sum that enters a gate, `out` are h and
/// c, and `saved`, which may be null, belongs to the item.
template <class E, class Here, class Sum>
LANE void lstm_element(const LstmLayout layout, unsigned children, const Here& here, const Sum& sum,
                       const Operand* cells, std::size_t item, E* const (&out)[2], E* saved) {
  const auto i = sigmoid(sum(layout.i)), o = sigmoid(sum(layout.o)), u = tanh(sum(layout.u));
  auto c = i * u;
  for (unsigned k = 0; k < children; ++k) {
    const unsigned row = layout.f + k * layout.hidden;
    const auto f = sigmoid(sum(row));
    c = fused(f, here.load(cells[k].at<E>(item)), c);
    if (saved != nullptr) here.store(f, saved + row);
  }
  const auto t = tanh(c);
  here.store(c, out[1]);
  here.store(o * t, out[0]);
  if (saved == nullptr) return;
  here.store(i, saved + layout.i);
  here.store(o, saved + layout.o);
  here.store(u, saved + layout.u);
  here.store(t, saved + layout.rows);
}

/// With t = tanh c: do = dh t, dc += dh o (1 - t^2); then back through c's sum and the gates'
/// nonlinearities. `dh`, `dc`, `saved` and `sums` belong to the item.
template <class E, class Here>
LANE void lstm_gradient(const LstmLayout layout, unsigned children, const Here& here,
                        const Operand* cells, const Destination* cell_gradients, std::size_t item,
                        const E* dh_of_item, const E* dc_of_item, const E* saved, E* sums) {
  const auto dh = here.load(dh_of_item), i = here.load(saved + layout.i),
             o = here.load(saved + layout.o);
  const auto u = here.load(saved + layout.u), t = here.load(saved + layout.rows);
  const auto dc = fused(dh * o, one_minus(t * t), here.load(dc_of_item));
  here.store(dc * u * (i * one_minus(i)), sums + layout.i);
  here.store(dh * t * (o * one_minus(o)), sums + layout.o);
  here.store(dc * i * one_minus(u * u), sums + layout.u);
  for (unsigned k = 0; k < children; ++k) {
    const unsigned row = layout.f + k * layout.hidden;
    const auto f = here.load(saved + row), c = here.load(cells[k].at<E>(item));
    here.store(dc * c * (f * one_minus(f)), sums + row);
    const Destination& to = cell_gradients[k];
    if (to.wanted() && to.items[item] != nullptr) {
      here.put(dc * f, to.at<E>(item), to.add[item] != 0);
    }
  }
}

/// r and z read the sums of h and of x; in n, only the sum of h is multiplied by the reset gate.
/// Then h' = (1 - z) n + z h. of_h(gate), of_x(gate) and the pointers belong to one item.
template <class E, class Here, class SumH, class SumX>
LANE void gru_element(unsigned hidden, const Here& here, const SumH& of_h, const SumX& of_x,
                      bool has_x, const E* before, E* out, E* saved) {
  auto r = of_h(0), z = of_h(1);
  if (has_x) r = r + of_x(0), z = z + of_x(1);
  r = sigmoid(r), z = sigmoid(z);
  const auto inner = of_h(2);
  auto total = r * inner;
  if (has_x) total = total + of_x(2);
  const auto n = tanh(total);
  here.store(fused(z, here.load(before), one_minus(z) * n), out);
  if (saved == nullptr) return;
  here.store(r, saved);
  here.store(z, saved + hidden);
  here.store(n, saved + 2 * hidden);
  here.store(inner, saved + 3 * hidden);
}

/// The gradients of the sums of h and, if there is an x, of x. Also the gradient that h gets
/// through z, if it is wanted.
template <class E, class Here>
LANE void gru_gradient(unsigned hidden, const Here& here, const E* before, const E* dy,
                       const E* saved, E* sums_h, E* sums_x, E* through_z) {
  const auto g = here.load(dy), r = here.load(saved), z = here.load(saved + hidden);
  const auto n = here.load(saved + 2 * hidden), inner = here.load(saved + 3 * hidden);
  const auto dn = g * one_minus(z) * one_minus(n * n);
  const auto dz = g * (here.load(before) - n) * (z * one_minus(z));
  const auto dr = dn * inner * (r * one_minus(r));
  here.store(dr, sums_h);
  here.store(dz, sums_h + hidden);
  here.store(dn * r, sums_h + 2 * hidden);
  if (sums_x != nullptr) {
    here.store(dr, sums_x);
    here.store(dz, sums_x + hidden);
    here.store(dn, sums_x + 2 * hidden);
  }
  if (through_z != nullptr) here.store(g * z, through_z);
}
