// How updates change an element, over any number type. Each target includes this file once.
//
// The includer provides a namespace, the macro LANE (the function attributes of its target) and,
// for its number type T, the arithmetic operators, the comparison <, and min, max, sqrt, abs,
// select(condition, a, b) and largest_number<T>(). T(c) is the constant c.
//
// updated(kind, c, w, h, m) returns the new value of w and changes the moments m, which are those
// of updates.h in the same order. h is the gradient times the scale.

template <class T>
struct UpdateNumbers {
  T rate, decay, square_decay, epsilon;
};
/// The numbers of an UpdateFormula, or of another UpdateNumbers, as T.
template <class T, class Rate, class Constants>
LANE UpdateNumbers<T> numbers_of(Rate rate, const Constants& c) {
  return {T(rate), T(c.decay), T(c.square_decay), T(c.epsilon)};
}

/// The exponential moving average of all x so far.
template <class T>
LANE T mean(T decay, T before, T x) {
  return decay * before + (T(1) - decay) * x;
}

template <class T>
LANE T updated(Descend, const UpdateNumbers<T>& c, T w, T h, T*) {
  return w - c.rate * h;
}

template <class T>
LANE T updated(DescendWithMomentum, const UpdateNumbers<T>& c, T w, T h, T* m) {
  m[0] = c.decay * m[0] + c.rate * h;
  return w - m[0];
}

template <class T>
LANE T updated(Adam, const UpdateNumbers<T>& c, T w, T h, T* m) {
  m[0] = mean(c.decay, m[0], h);
  m[1] = mean(c.square_decay, m[1], h * h);
  return w - c.rate * m[0] / (sqrt(m[1]) + c.epsilon);
}

template <class T>
LANE T updated(Amsgrad, const UpdateNumbers<T>& c, T w, T h, T* m) {
  m[0] = mean(c.decay, m[0], h);
  m[1] = mean(c.square_decay, m[1], h * h);
  m[2] = max(m[2], m[1]);
  return w - c.rate * m[0] / (sqrt(m[2]) + c.epsilon);
}

// The sum may overflow after many updates; the limit then keeps steps small.
template <class T>
LANE T updated(Adagrad, const UpdateNumbers<T>& c, T w, T h, T* m) {
  m[0] = min(m[0] + h * h, largest_number<T>());
  return w - c.rate * h / sqrt(m[0] + c.epsilon);
}

template <class T>
LANE T updated(RmsProp, const UpdateNumbers<T>& c, T w, T h, T* m) {
  m[0] = mean(c.square_decay, m[0], h * h);
  return w - c.rate * h / sqrt(m[0] + c.epsilon);
}

template <class T>
LANE T updated(Adadelta, const UpdateNumbers<T>& c, T w, T h, T* m) {
  m[0] = mean(c.square_decay, m[0], h * h);
  const T step = h * sqrt(m[1] + c.epsilon) / sqrt(m[0] + c.epsilon);
  m[1] = mean(c.square_decay, m[1], step * step);
  return w - c.rate * step;
}

// The new value of one number of a Pair, given its share.
struct TowardsMean {
  template <class T>
  LANE static T value(T mean, T x, T share) {
    // The difference of two infinities would be NaN.
    const T infinity(std::numeric_limits<double>::infinity());
    return mean + share * select(abs(mean) < infinity, x - mean, x);
  }
};
struct AddTo {
  template <class T>
  LANE static T value(T to, T from, T) {
    return to + from;
  }
};
