// Functions with errors like a GPU's: they differ from the CPU's by up to two units in the last
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

#define MOVED(name, most)                                                                     \
  extern "C" float dynet_like_host_##name##f(float x) { return move(std::name(x), x, most); } \
  extern "C" double dynet_like_host_##name(double x) { return move(std::name(x), x, most); }
MOVED(exp, 2)
MOVED(expm1, 1)
MOVED(log, 1)
MOVED(log1p, 1)
#undef MOVED

extern "C" float dynet_like_host_tanhf(float x) {
  return std::clamp(move(std::tanh(x), x, 2), -1.0f, 1.0f);
}
extern "C" double dynet_like_host_tanh(double x) {
  return std::clamp(move(std::tanh(x), x, 2), -1.0, 1.0);
}
extern "C" float dynet_like_host_powf(float x, float y) { return move(std::pow(x, y), x, 2); }
extern "C" double dynet_like_host_pow(double x, double y) { return move(std::pow(x, y), x, 2); }
