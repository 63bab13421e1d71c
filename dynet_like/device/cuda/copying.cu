// Softmax with copying: a team of threads for all words, then a warp for the places.
#include <cmath>

#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/teams.h"
#include "dynet_like/device/cuda/warps.h"

namespace dynet_like::detail::cuda {

namespace {

// One item of copy_log_softmax, computed by a warp.
template <class T>
struct Copying {
  std::uint32_t words, places;
  const T *x, *weights, *at_places;
  T log_generate, log_copy;

  __device__ Copying(std::size_t i, std::uint32_t n, const Operand* in,
                     const std::uint32_t* integers)
      : words(n),
        places(integers[i]),
        x(in[0].at<T>(i)),
        weights(in[2].at<T>(i)),
        at_places(in[3].at<T>(i)) {
    const T gate = *in[1].at<T>(i), rest = std::log1p(std::exp(-std::abs(gate)));
    log_generate = (gate < 0 ? gate : T(0)) - rest;
    log_copy = (gate < 0 ? T(0) : -gate) - rest;
  }
  // Calls f(place, word) for every place, each in one lane.
  template <class F>
  __device__ void each_place(const F& f) const {
    for (std::uint32_t k = lane_of_warp(); k < places; k += kWarp) {
      if (at_places[k] >= 0 && at_places[k] < static_cast<T>(words)) {
        f(k, static_cast<std::uint32_t>(at_places[k]));
      }
    }
  }
  // Calls f(word, logarithm of its copied probability) once per word, in the lane of its first
  // place.
  template <class F>
  __device__ void each_word(const F& f) const {
    each_place([&](std::uint32_t place, std::uint32_t word) {
      T copied = 0;
      for (std::uint32_t k = 0; k < places; ++k) {
        if (!(at_places[k] >= 0) || static_cast<std::uint32_t>(at_places[k]) != word) continue;
        if (k < place) return;
        copied = copied + weights[k];
      }
      if (copied != 0) f(word, log_copy + std::log(copied));
    });
  }
};

template <unsigned size, class T>
__global__ void generate(Part part, std::uint32_t n, const Operand* in,
                         const std::uint32_t* integers, Output out, T* saved) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const Copying<T> item(place.item, n, in, integers);
  const Team<size> team;
  const T top = team.template largest<T>(n, [&](std::uint32_t k) { return item.x[k]; });
  const T log_sum =
      std::log(team.template sum<T>(n, [&](std::uint32_t k) { return std::exp(item.x[k] - top); }));
  T* const y = output_at<T>(out, place.item);
  team.each(n, [&](std::uint32_t k) { y[k] = ((item.x[k] - top) - log_sum) + item.log_generate; });
  if (saved == nullptr || team.rank != 0) return;
  saved[2 * place.item] = top;
  saved[2 * place.item + 1] = log_sum;
}

template <class T>
__global__ void copy(std::size_t items, std::uint32_t n, const Operand* in,
                     const std::uint32_t* integers, Output out) {
  const std::size_t i = item_of_warp();
  if (i >= items) return;
  T* const y = output_at<T>(out, i);
  Copying<T>(i, n, in, integers).each_word([&](std::uint32_t word, T copied) {
    const T top = y[word] < copied ? copied : y[word], less = y[word] < copied ? y[word] : copied;
    y[word] = top + std::log1p(std::exp(less - top));
  });
}

// The inputs of backward kernels of copy_log_softmax, and the slopes that they compute: n per item
// for the generated shares, and the sum of all for the copied shares.
template <class T>
struct CopyingBackward {
  std::uint32_t n;
  const Operand* in;
  Operand out, saved, dy;
  const std::uint32_t* integers;
  T *slopes, *of_copies;
};

template <class T>
__global__ void pass_slopes(Part part, CopyingBackward<T> given) {
  Place place;
  if (!find_element(part, place)) return;
  given.slopes[place.item * part.size + place.at] = given.dy.template at<T>(place.item)[place.at];
}

template <class T>
__global__ void slopes_of_copies(std::size_t items, CopyingBackward<T> given) {
  const std::size_t i = item_of_warp();
  if (i >= items) return;
  const Copying<T> item(i, given.n, given.in, given.integers);
  const T *const y = given.out.template at<T>(i), *const saved = given.saved.template at<T>(i);
  T* const slopes = given.slopes + i * given.n;
  T sum = 0;
  item.each_word([&](std::uint32_t word, T copied) {
    const T slope = slopes[word];
    const T generated = ((item.x[word] - saved[0]) - saved[1]) + item.log_generate;
    slopes[word] = slope * std::exp(generated - y[word]);
    sum = sum + slope * std::exp(copied - y[word]);
  });
  sum = sum_of_warp(sum);
  if (lane_of_warp() == 0) given.of_copies[i] = sum;
}

// dx = s - softmax(x) sum s, dgate = (1 - g) sum s - g sum of dy times the copied shares.
template <unsigned size, class T>
__global__ void gradients_of_scores(Part part, CopyingBackward<T> given, Destination dx,
                                    Destination dgate) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const std::size_t i = place.item;
  const Copying<T> item(i, given.n, given.in, given.integers);
  const T *const slopes = given.slopes + i * given.n, *const saved = given.saved.template at<T>(i);
  const Team<size> team;
  const T sum = team.template sum<T>(given.n, [&](std::uint32_t k) { return slopes[k]; });
  const Target<T> scores(dx, i), gate(dgate, i);
  if (scores.to != nullptr) {
    team.each(given.n, [&](std::uint32_t k) {
      scores.put(slopes[k] - std::exp((item.x[k] - saved[0]) - saved[1]) * sum, k);
    });
  }
  if (gate.to == nullptr || team.rank != 0) return;
  gate.put(sum * std::exp(item.log_copy) - given.of_copies[i] * std::exp(item.log_generate), 0);
}

// dweight = dy (1 - g) e^-y. The first of the items that write to one gradient sums up all. Words
// (`are_words`) have no gradient.
template <class T>
__global__ void gradients_of_places(std::size_t items, CopyingBackward<T> given, bool are_words,
                                    Destination dx) {
  const std::size_t i = item_of_warp();
  if (i >= items || (i > 0 && dx.items[i - 1] == dx.items[i])) return;
  const Target<T> target(dx, i);
  if (target.to == nullptr) return;
  for (std::uint32_t k = lane_of_warp(); k < given.integers[i]; k += kWarp) {
    T sum = 0;
    for (std::size_t j = i; j < items && dx.items[j] == dx.items[i] && !are_words; ++j) {
      const Copying<T> item(j, given.n, given.in, given.integers);
      const T at = item.at_places[k];
      if (!(at >= 0) || !(at < static_cast<T>(item.words))) continue;
      const auto word = static_cast<std::uint32_t>(at);
      const T slope = given.dy.template at<T>(j)[word];
      const T power = item.log_copy - given.out.template at<T>(j)[word];
      if (slope != 0) sum = sum + slope * std::exp(power < 80 ? power : T(80));
    }
    target.put(sum, k);
  }
}

template <class T>
void launch_copying(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  const auto n = static_cast<std::uint32_t>(call.type->output_size);
  const Operand* const in = commands.stage(call.in, 4);
  launch_teams(
      commands, call.n, 1, team_for(n, 1), [](auto size) { return generate<size(), T>; }, n, in,
      call.integers, call.out, static_cast<T*>(call.saved));
  launch_warps(commands, call.n, copy<T>, n, in, call.integers, call.out);
}
template <class T>
void launch_copying(const BackwardCall& call) {
  Commands& commands = commands_of(call);
  const auto n = static_cast<std::uint32_t>(call.type->output_size);
  const CopyingBackward<T> given{n,
                                 commands.stage(call.in, 4),
                                 call.out,
                                 call.saved,
                                 call.dy,
                                 call.integers,
                                 commands.elements<T>(call.n * n),
                                 commands.elements<T>(call.n)};
  if (call.dx[0].wanted() || call.dx[1].wanted()) {
    launch_elements(commands, call.n, n, pass_slopes<T>, given);
    launch_warps(commands, call.n, slopes_of_copies<T>, given);
    launch_teams(
        commands, call.n, 1, team_for(n, 1),
        [](auto size) { return gradients_of_scores<size(), T>; }, given, call.dx[0], call.dx[1]);
  }
  for (const unsigned j : {2u, 3u}) {
    if (!call.dx[j].wanted()) continue;
    launch_warps(commands, call.n, gradients_of_places<T>, given, j == 3, call.dx[j]);
  }
}

}  // namespace

std::vector<KernelEntry> copying_kernels() {
  return {{"copy_log_softmax", DYNET_LIKE_KERNELS(launch_copying, launch_copying)}};
}

}  // namespace dynet_like::detail::cuda
