// Runs programs in modes, and compares what they gave.
#include "tests/support/modes.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "dynet_like/tape/tape.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {

namespace {

using batching::Policy;

/// Samples ask for some of their values, so that others wait for them.
void ask(const Sample& sample, std::size_t number) {
  if (number % 2 == 0) sample.loss.value();
  if (number % 3 > 0) values_of(sample.watched);
}

std::vector<Sample> record(Minibatch& batch, const Program& program, Way way, unsigned first,
                           unsigned count) {
  std::vector<Sample> samples(count);
  const auto record_one = [&](ComputationGraph& graph, std::size_t i) {
    samples[i] = program.record(graph, first + static_cast<unsigned>(i));
    return samples[i].loss;
  };
  switch (way) {
    case Way::one_by_one:
      for (unsigned i = 0; i < count; ++i) batch.add_loss(record_one(batch.new_graph(), i));
      break;
    case Way::beside_each_other:
      batch.add_losses(count, record_one);
      break;
    case Way::in_waves:
      batch.add_losses(for_each_sample(batch, count, [&](ComputationGraph& graph, std::size_t i) {
        const Expression loss = record_one(graph, i);
        ask(samples[i], i);
        return loss;
      }));
      break;
    case Way::by_themselves:
      ADD_FAILURE() << "need a minibatch";
  }
  return samples;
}

bool keeps_gradients(const Mode& mode) {
  return !mode.options.inference && mode.options.memory_limit == 0;
}

void add_numbers(Outcome& outcome, const Sample& sample, const Mode& mode) {
  Numbers& values = outcome.values.emplace_back();
  append(values, sample.loss.value());
  for (const Expression& e : sample.watched) append(values, e.value());
  for (const Expression& e : sample.shown) append(values, e.value());
  if (!keeps_gradients(mode)) return;
  Numbers& numbers = outcome.gradients.emplace_back();
  for (const Expression& e : sample.watched) {
    // What follows from parameters alone has one gradient for all samples.
    if (e.pg->record().tape().value(e.i).identity == 0) append(numbers, e.gradient());
  }
}

std::uint64_t seed_of(unsigned sample) { return 1000 + sample; }

Outcome run_by_themselves(const Program& program, const Mode& mode) {
  Outcome outcome;
  Gradients gradients;
  ComputationGraph graph(mode.options);
  for (unsigned s = program.first; s < program.first + program.samples; ++s) {
    graph.clear();
    graph.set_seed(seed_of(s));
    const Sample sample = program.record(graph, s);
    if (!mode.options.inference) graph.backward(sample.loss, gradients);
    add_numbers(outcome, sample, mode);
  }
  if (!mode.options.inference) outcome.parameters = numbers_of(program.model, gradients);
  return outcome;
}

Outcome run_once(Minibatch& batch, const Program& program, const Mode& mode) {
  const bool trains = !mode.options.inference;
  const unsigned together = mode.together == 0 ? program.samples : mode.together;
  Outcome outcome;
  Gradients gradients;
  for (unsigned first = 0; first < program.samples; first += together) {
    const unsigned count = std::min(together, program.samples - first);
    batch.clear();
    std::vector<std::uint64_t> seeds(count);
    for (unsigned i = 0; i < count; ++i) seeds[i] = seed_of(program.first + first + i);
    batch.seed_samples(seeds);
    const std::vector<Sample> samples =
        record(batch, program, mode.way, program.first + first, count);
    batch.forward();
    outcome.parts += batch.parts();
    if (trains) batch.backward(gradients);
    for (const Sample& sample : samples) add_numbers(outcome, sample, mode);
  }
  if (trains) outcome.parameters = numbers_of(program.model, gradients);
  outcome.report = batch.explain();
  return outcome;
}

/// How close the numbers of a mode must come to those of the plain one.
struct Promise {
  bool values = true;      ///< else samples draw other numbers
  bool gradients = true;   ///< of single values
  bool parameters = true;  ///< the same bits, or else near
};

Promise promise_of(const Program& program, const Mode& mode) {
  const GraphOptions& options = mode.options;
  const bool divides = mode.together != 0 || mode.way == Way::by_themselves;
  Promise promise;
  promise.values = !options.inference || !program.draws;
  promise.gradients = keeps_gradients(mode) && !options.share_repeated;
  promise.parameters = !options.share_repeated && !(program.derives && divides) &&
                       // A GPU begins long sums anew.
                       (options.device->is_cpu() || !(divides || options.memory_limit > 0));
  return promise;
}

void expect_promised(const Program& program, const Mode& mode, const Outcome& want) {
  SCOPED_TRACE(name_of(mode));
  const Promise promise = promise_of(program, mode);
  if (!promise.values) return;
  const Outcome got = run(program, mode);
  Outcome expected = want, found = got;
  const bool must_divide = mode.options.memory_limit > 0 && !mode.options.inference;
  if (must_divide && mode.way != Way::by_themselves && program.samples > 1) {
    EXPECT_GT(got.parts, 1u);
  }
  if (!promise.gradients) found.gradients = expected.gradients = {};
  if (mode.options.inference) expected.parameters = {};
  if (!promise.parameters) {
    EXPECT_TRUE(near(found.parameters, expected.parameters)) << "gradients of parameters";
    found.parameters = expected.parameters = {};
  }
  EXPECT_TRUE(same_bits(found, expected));
}

// Node by node. The order in which values of parameters alone are recorded depends on what
// functions of recursions have met before, so these meet everything first.
Outcome run_plain(const Program& program) {
  Mode mode{options_of(program.model)};
  mode.options.policy = Policy::none;
  mode.again = program.derives;
  Outcome plain = run(program, mode);
  mode.options.policy = Policy::automatic;
  plain.report = run(program, mode).report;  // with the peak of a minibatch that is batched
  return plain;
}

/// Bytes that are too few for all samples together.
std::size_t limit_for(const Outcome& plain, unsigned parts) {
  return std::max<std::size_t>(1, plain.report.peak_bytes / parts);
}

bool is_on_cpu() { return default_device()->is_cpu(); }

std::vector<Mode> all_modes(const Program& program, const Outcome& plain) {
  const GraphOptions options = options_of(program.model);
  std::vector<Mode> modes;
  const auto add = [&](const auto& change) {
    Mode mode{options};
    change(mode);
    if (mode.way != Way::beside_each_other || !program.asks) modes.push_back(mode);
  };
  for (const Policy policy : batching::kPolicies) {
    for (const unsigned threads : {1u, 3u}) {
      add([&](Mode& m) { m.options.policy = policy, m.options.threads = threads; });
    }
  }
  add([](Mode& m) { m.way = Way::by_themselves; });
  add([](Mode& m) { m.together = 1; });
  add([](Mode& m) { m.together = 2, m.options.threads = 3; });
  add([&](Mode& m) { m.options.memory_limit = limit_for(plain, 4); });
  add([&](Mode& m) { m.options.memory_limit = limit_for(plain, 2), m.options.threads = 3; });
  add([&](Mode& m) {
    m.options.verify_batching = true, m.options.detect_anomaly = program.is_finite;
  });
  add([](Mode& m) { m.again = true; });
  if (is_on_cpu()) add([](Mode& m) { m.options.share_repeated = true; });
  for (const unsigned threads : {1u, 3u}) {
    add([&](Mode& m) { m.way = Way::beside_each_other, m.options.threads = threads; });
    add([&](Mode& m) { m.way = Way::in_waves, m.options.threads = threads; });
  }
  const std::size_t training = modes.size();
  for (std::size_t i = 0; i < training; ++i) {
    const Mode& mode = modes[i];
    if (mode.options.policy != Policy::automatic || mode.options.share_repeated) continue;
    modes.push_back(mode);
    modes.back().options.inference = true;
  }
  return modes;
}

Mode drawn_mode(const Program& program, const Outcome& plain, Random& random) {
  Mode mode{options_of(program.model)};
  GraphOptions& options = mode.options;
  options.policy = batching::kPolicies[random.below(std::size(batching::kPolicies))];
  options.threads = 1 + random.below(4);
  options.verify_batching = random.below(8) == 0;
  options.detect_anomaly = program.is_finite && random.below(8) == 0;
  options.inference = !program.draws && random.below(5) == 0;
  options.share_repeated = is_on_cpu() && random.below(12) == 0;
  mode.together = random.below(3) > 0 ? 0 : 1 + random.below(program.samples);
  if (random.below(6) == 0) options.memory_limit = limit_for(plain, 2 + random.below(6));
  mode.way = static_cast<Way>(random.below(4));
  if (program.asks && mode.way == Way::beside_each_other) mode.way = Way::in_waves;
  mode.again = random.below(4) == 0;
  return mode;
}

}  // namespace

std::string name_of(const Mode& mode) {
  const GraphOptions& options = mode.options;
  std::string name = std::string(batching::name_of(options.policy)) + ", " +
                     std::to_string(options.threads) + " threads";
  if (mode.together != 0) name += ", " + std::to_string(mode.together) + " together";
  if (mode.way == Way::beside_each_other) name += ", recorded beside each other";
  if (mode.way == Way::by_themselves) name += ", by themselves";
  if (mode.way == Way::in_waves) name += ", in waves";
  if (options.inference) name += ", inference";
  if (options.memory_limit > 0) name += ", limit " + std::to_string(options.memory_limit);
  if (options.verify_batching) name += ", verified";
  if (options.detect_anomaly) name += ", anomalies detected";
  if (options.share_repeated) name += ", repeated vertices shared";
  return name + (mode.again ? ", again" : "");
}

Outcome run(const Program& program, const Mode& mode) {
  if (mode.way == Way::by_themselves) return run_by_themselves(program, mode);
  Minibatch batch(mode.options);
  return run(batch, program, mode);
}

Outcome run(Minibatch& batch, const Program& program, const Mode& mode) {
  if (mode.again) run_once(batch, program, mode);
  return run_once(batch, program, mode);
}

GraphOptions options_of(const ParameterCollection& model, GraphOptions options) {
  options.dtype = model.dtype();
  return options;
}

Numbers numbers_of(const ParameterCollection& model, const Gradients& gradients) {
  Numbers all;
  for (const auto& storage : model.storages()) {
    Numbers numbers = gradients.all_doubles(*storage);
    numbers.resize(storage->size());  // of what nothing depends on there may be none
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

void append(Numbers& to, const Tensor& tensor) {
  const Numbers numbers = as_doubles(tensor);
  to.insert(to.end(), numbers.begin(), numbers.end());
}

namespace {

template <class Equal>
::testing::AssertionResult compare(const Numbers& got, const Numbers& want, const Equal& equal) {
  if (got.size() != want.size()) {
    return ::testing::AssertionFailure() << got.size() << " numbers, not " << want.size();
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (equal(got[i], want[i]) || (std::isnan(got[i]) && std::isnan(want[i]))) continue;
    return ::testing::AssertionFailure() << "number " << i << ": " << got[i] << ", not " << want[i];
  }
  return ::testing::AssertionSuccess();
}

template <class Compare>
::testing::AssertionResult compare_samples(const std::vector<Numbers>& got,
                                           const std::vector<Numbers>& want,
                                           const Compare& compare) {
  if (got.size() != want.size()) {
    return ::testing::AssertionFailure() << got.size() << " samples, not " << want.size();
  }
  for (std::size_t s = 0; s < got.size(); ++s) {
    if (const auto result = compare(got[s], want[s]); !result) {
      return ::testing::AssertionFailure() << "sample " << s << ", " << result.message();
    }
  }
  return ::testing::AssertionSuccess();
}

template <class Compare>
::testing::AssertionResult compare_outcomes(const Outcome& got, const Outcome& want,
                                            const Compare& compare) {
  const std::pair<const char*, ::testing::AssertionResult> results[] = {
      {"values", compare_samples(got.values, want.values, compare)},
      {"gradients", compare_samples(got.gradients, want.gradients, compare)},
      {"gradients of parameters", compare(got.parameters, want.parameters)}};
  for (const auto& [what, result] : results) {
    if (!result) return ::testing::AssertionFailure() << what << ": " << result.message();
  }
  return ::testing::AssertionSuccess();
}

}  // namespace

::testing::AssertionResult same_bits(const Numbers& got, const Numbers& want) {
  return compare(got, want,
                 [](double a, double b) { return std::memcmp(&a, &b, sizeof(double)) == 0; });
}

::testing::AssertionResult near(const Numbers& got, const Numbers& want, double tolerance) {
  return compare(got, want, [=](double a, double b) {
    return a == b || std::abs(a - b) <= tolerance * (1 + std::abs(b));
  });
}

::testing::AssertionResult same_bits(const std::vector<Numbers>& got,
                                     const std::vector<Numbers>& want) {
  return compare_samples(got, want,
                         [](const Numbers& a, const Numbers& b) { return same_bits(a, b); });
}

::testing::AssertionResult same_bits(const Outcome& got, const Outcome& want) {
  return compare_outcomes(got, want,
                          [](const Numbers& a, const Numbers& b) { return same_bits(a, b); });
}

::testing::AssertionResult near(const Outcome& got, const Outcome& want, double tolerance) {
  return compare_outcomes(
      got, want, [=](const Numbers& a, const Numbers& b) { return near(a, b, tolerance); });
}

void expect_same_in_all_modes(const Program& program) {
  if (runs_slowly()) return expect_same_in_some_modes(program, program.samples, 6);
  const Outcome plain = run_plain(program);
  for (const Mode& mode : all_modes(program, plain)) expect_promised(program, mode, plain);
}

void expect_same_in_some_modes(const Program& program, std::uint64_t seed, unsigned count) {
  const Outcome plain = run_plain(program);
  Random random(seed);
  for (unsigned i = 0; i < (runs_slowly() ? (count + 1) / 2 : count); ++i) {
    expect_promised(program, drawn_mode(program, plain, random), plain);
  }
}

}  // namespace dynet_like::testing
