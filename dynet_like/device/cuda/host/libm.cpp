// Functions with errors like a GPU's: they differ from the CPU's by up to five units in the last
// place. The difference depends on the argument alone.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace {

// Leaves results that are exact on a GPU: zeros, ones, and numbers that are not finite.
template <class T>
T move(T result, T argument, int most) {
  if (result == 0 || result == 1 || !std::isfinite(result)) return result;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &argument, sizeof(T));
  bits = (bits + 1) * 0x9e3779b97f4a7c15u;
  const int steps = static_cast<int>((bits >> 40) % (2 * static_cast<unsigned>(most) + 1)) - most;
  const T infinity = std::numeric_limits<T>::infinity();
  for (int i = 0; i < std::abs(steps); ++i) {
    result = std::nextafter(result, steps > 0 ? infinity : -infinity);
  }
  return result;
}

}  // namespace

// By as much as the CUDA Programming Guide documents, for floats or doubles, whichever is more.
#define MOVED(name, most)                                                                     \
  extern "C" float dynet_like_host_##name##f(float x) { return move(std::name(x), x, most); } \
  extern "C" double dynet_like_host_##name(double x) { return move(std::name(x), x, most); }
MOVED(acos, 2)
MOVED(acosh, 4)
MOVED(asin, 2)
MOVED(asinh, 3)
MOVED(atan, 2)
MOVED(atanh, 3)
MOVED(cosh, 2)
MOVED(erfc, 5)
MOVED(exp, 2)
MOVED(expm1, 1)
MOVED(log, 1)
MOVED(log1p, 1)
MOVED(sinh, 3)
MOVED(tan, 4)
#undef MOVED

#define MOVED_WITHIN_ONE(name, most)                             \
  extern "C" float dynet_like_host_##name##f(float x) {          \
    return std::clamp(move(std::name(x), x, most), -1.0f, 1.0f); \
  }                                                              \
  extern "C" double dynet_like_host_##name(double x) {           \
    return std::clamp(move(std::name(x), x, most), -1.0, 1.0);   \
  }
MOVED_WITHIN_ONE(cos, 2)
MOVED_WITHIN_ONE(erf, 2)
MOVED_WITHIN_ONE(sin, 2)
MOVED_WITHIN_ONE(tanh, 2)
#undef MOVED_WITHIN_ONE

#define MOVED_OF_TWO(name, most)                                 \
  extern "C" float dynet_like_host_##name##f(float x, float y) { \
    return move(std::name(x, y), x, most);                       \
  }                                                              \
  extern "C" double dynet_like_host_##name(double x, double y) { \
    return move(std::name(x, y), x, most);                       \
  }
MOVED_OF_TWO(hypot, 3)
MOVED_OF_TWO(pow, 4)
#undef MOVED_OF_TWO
