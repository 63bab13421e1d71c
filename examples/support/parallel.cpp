// Threads that share nothing but the parameters, which they only read.
#include "examples/support/parallel.h"

#include <algorithm>
#include <future>
#include <utility>

namespace dynet_like::examples {

namespace {

GraphOptions with_random(GraphOptions options, Random& random) {
  options.random = &random;
  return options;
}

}  // namespace

void for_each_part(unsigned parts, unsigned threads, const std::function<void(unsigned)>& f) {
  threads = std::clamp(threads, 1u, parts);
  const auto work = [&](unsigned thread) {
    for (unsigned part = thread; part < parts; part += threads) f(part);
  };
  std::vector<std::future<void>> others;
  for (unsigned thread = 1; thread < threads; ++thread) {
    others.push_back(std::async(std::launch::async, work, thread));
  }
  work(0);
  for (std::future<void>& other : others) other.get();
}

ParallelTrainingBatch::Part::Part(GraphOptions options)
    : minibatch(with_random(std::move(options), random)) {}

ParallelTrainingBatch::ParallelTrainingBatch(unsigned parts, unsigned threads, std::uint64_t seed,
                                             GraphOptions options)
    : threads_(threads), seed_(seed) {
  for (unsigned part = 0; part < std::max(parts, 1u); ++part) parts_.emplace_back(options);
}

ParallelTrainingBatch::Loss ParallelTrainingBatch::run(std::span<const std::uint32_t> samples,
                                                       std::uint64_t step, const AddSample& add) {
  const auto count = static_cast<unsigned>(parts_.size());
  for_each_part(count, threads_, [&](unsigned number) {
    Part& part = parts_[number];
    part.random = Random(seed_, step * count + number);
    part.minibatch.clear();
    part.loss.count = 0;
    for (std::size_t i = number; i < samples.size(); i += count) {
      part.loss.count += add(part.minibatch, samples[i]);
    }
    part.loss.sum = static_cast<double>(part.minibatch.forward());
    part.gradients.clear();
    part.minibatch.backward(part.gradients);
  });
  Loss loss;
  for (Part& part : parts_) {
    loss.sum += part.loss.sum;
    loss.count += part.loss.count;
    if (&part != &parts_.front()) parts_.front().gradients.add(part.gradients);
  }
  return loss;
}

}  // namespace dynet_like::examples
