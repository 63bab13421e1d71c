// The work of a minibatch of every model stays within the bounds of two files: batches, kernel
// calls, copies and memory (work_bounds.txt), and launches, copies, waits and allocations of a GPU
// (device_work_bounds.txt; on cuda-host, whose counts are those of a GPU). Nothing is timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "bench/models/models.h"
#include "bench/support/device_work.h"
#include "nn/nn.h"

namespace dynet_like::bench {
namespace {

/// A quick size. It and its small multiples are no widths of other layers, which could join types:
/// so batches are the same as at the sizes that are measured.
constexpr unsigned kHidden = 12;

// ------------------------------------------------------------------------------- files of bounds

struct Quantity {
  std::string name;
  double tolerance = 0;  ///< the share by which an amount may exceed its bound
};
using Amounts = std::vector<std::uint64_t>;
/// By the name of the row, such as "tree_lstm/train/fused".
using Table = std::map<std::string, Amounts>;

/// How far an amount may be below its bound, so that bounds stay sharp.
constexpr double kSharp = 0.05;

std::vector<std::string> faults(const std::vector<Quantity>& quantities, const Table& bounds,
                                const Table& table) {
  std::vector<std::string> result;
  for (const auto& [name, amounts] : table) {
    const auto bound = bounds.find(name);
    if (bound == bounds.end()) {
      result.push_back(name + ": need bounds; got none");
      continue;
    }
    for (std::size_t q = 0; q < quantities.size(); ++q) {
      const auto most = static_cast<double>(bound->second.at(q));
      const auto amount = static_cast<double>(amounts.at(q));
      const bool above = amount > most * (1 + quantities[q].tolerance);
      if (!above && amount >= most * (1 - kSharp)) continue;
      result.push_back(fmt::format("{}: need {} {}{}", name, most, quantities[q].name,
                                   above ? fmt::format(" at most; got {}", amount)
                                         : fmt::format("; got only {}: lower the bound", amount)));
    }
  }
  for (const auto& [name, bound] : bounds) {
    if (!table.contains(name)) result.push_back(name + ": need such a row; got bounds alone");
  }
  return result;
}

std::string text_of(const std::vector<Quantity>& quantities, const Table& table) {
  std::size_t width = 0;
  for (const auto& [name, amounts] : table) width = std::max(width, name.size() + 3);
  const auto of = [](const Quantity& quantity) {
    return std::max<std::size_t>(15, quantity.name.size() + 2);
  };
  std::string text = fmt::format("{:<{}}", "# row", width);
  for (const Quantity& quantity : quantities) {
    text += fmt::format("{:>{}}", quantity.name, of(quantity));
  }
  for (const auto& [name, amounts] : table) {
    text += fmt::format("\n{:<{}}", name, width);
    for (std::size_t q = 0; q < quantities.size(); ++q) {
      text += fmt::format("{:>{}}", amounts.at(q), of(quantities[q]));
    }
  }
  return text + '\n';
}

Table read(std::istream& in, std::size_t quantities, std::string* head = nullptr) {
  Table table;
  for (std::string text; std::getline(in, text);) {
    if (text.starts_with('#')) {
      if (head != nullptr && !text.starts_with("# row")) *head += text + '\n';
      continue;
    }
    std::istringstream line(text);
    std::string name, more;
    Amounts amounts(quantities);
    line >> name;
    for (std::uint64_t& amount : amounts) line >> amount;
    EXPECT_TRUE(line && !(line >> more) && table.emplace(name, amounts).second) << text;
  }
  return table;
}

/// Compares a table with a file of this folder; if DYNET_LIKE_UPDATE_BOUNDS is set, writes it anew.
void check(const std::string& file, const std::vector<Quantity>& quantities, const Table& table) {
  const char* const root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  ASSERT_NE(root, nullptr) << "need DYNET_LIKE_SOURCE_DIR, which ctest sets";
  const std::string path = std::string(root) + "/bench/tests/" + file;
  std::string head;
  std::ifstream in(path);
  const std::vector<std::string> found =
      faults(quantities, read(in, quantities.size(), &head), table);
  const bool updates = std::getenv("DYNET_LIKE_UPDATE_BOUNDS") != nullptr;
  for (const std::string& fault : found) {
    if (!updates) ADD_FAILURE() << fault;
    if (updates) fmt::print("{}\n", fault);
  }
  if (updates) std::ofstream(path) << head << text_of(quantities, table);
}

TEST(BoundsTest, RulesAndTheFile) {
  const std::vector<Quantity> rules = {{"batches"}, {"value_bytes", 0.01}};
  const Table bounds = {{"a", {100, 20000}}};
  const auto faults_of = [&](const Table& table) { return faults(rules, bounds, table); };
  using Faults = std::vector<std::string>;
  EXPECT_EQ(faults_of({{"a", {100, 20200}}}), Faults{});
  EXPECT_EQ(faults_of({{"a", {95, 19000}}}), Faults{});
  EXPECT_EQ(faults_of({{"a", {101, 20201}}}),
            (Faults{"a: need 100 batches at most; got 101",
                    "a: need 20000 value_bytes at most; got 20201"}));
  EXPECT_EQ(faults_of({{"a", {94, 20000}}}),
            Faults{"a: need 100 batches; got only 94: lower the bound"});
  EXPECT_EQ(faults_of({{"b", {1, 1}}}),
            (Faults{"b: need bounds; got none", "a: need such a row; got bounds alone"}));
  std::istringstream in("# A head.\n" + text_of(rules, bounds));
  EXPECT_EQ(read(in, 2), bounds);
}

// ---------------------------------------------------------------------------------------- models

std::string name_of(const ModelKind& model, bool train, Form form) {
  constexpr const char* kForms[] = {"/fused", "/ops", "/steps"};
  return std::string(model.name) + (train ? "/train" : "/infer") + kForms[static_cast<int>(form)];
}

/// Adds the losses of a minibatch.
using AddLosses = std::function<void(Minibatch& batch)>;

constexpr unsigned kSamples = 64;

/// Decoders of 3 to 12 steps, each of which asks for a value.
AddLosses decoders() {
  struct Decoder {
    ParameterCollection model{1};
    nn::Embedding words{model, kSamples, kHidden};
    nn::LSTM cell{model, kHidden, kHidden};
    nn::Linear output{model, kHidden, kSamples};
  };
  const auto decoder = std::make_shared<Decoder>();
  return [decoder](Minibatch& batch) {
    batch.add_losses(for_each_sample(batch, kSamples, [&](ComputationGraph& graph, std::size_t i) {
      std::vector<Expression> losses;
      nn::LSTM::State state = decoder->cell.start(graph);
      auto word = static_cast<unsigned>(i);
      for (std::size_t step = 0; step < 3 + i % 10; ++step) {
        state = decoder->cell.step(state, decoder->words(graph, word));
        const Expression scores = decoder->output(state.h);
        losses.push_back(cross_entropy(scores, word));
        word = argmax(scores.value());
      }
      return sum(losses);
    }));
  };
}

/// A Transformer over sentences of 1 to 32 words, all of which share batches.
AddLosses transformer() {
  struct Tagger {
    ParameterCollection model{1};
    nn::Embedding words{model, 32, kHidden};
    nn::TransformerEncoder encoder{
        model, {.size = kHidden, .hidden = 2 * kHidden, .heads = 3, .layers = 2}};
    nn::Linear output{model, kHidden, 17};
  };
  const auto tagger = std::make_shared<Tagger>();
  return [tagger](Minibatch& batch) {
    for (unsigned i = 0; i < kSamples; ++i) {
      std::vector<unsigned> words(1 + i % 32), tags;
      for (unsigned w = 0; w < words.size(); ++w) tags.push_back((words[w] = (i + w) % 32) % 17);
      const Expression x = tagger->words.columns(batch.new_graph(), words);
      batch.add_loss(sum_batches(cross_entropy(tagger->output(tagger->encoder(x)), tags)));
    }
  };
}

/// A network that passes messages along rings of 2 to 33 atoms, all of which share batches.
AddLosses molecules() {
  struct Network {
    ParameterCollection model{1};
    nn::Embedding atoms{model, 10, kHidden};
    nn::Linear message{model, kHidden, kHidden}, update{model, kHidden, kHidden};
    nn::Linear output{model, kHidden, 2};
  };
  const auto network = std::make_shared<Network>();
  return [network](Minibatch& batch) {
    for (unsigned i = 0; i < kSamples; ++i) {
      const unsigned n = 2 + i % 32;
      std::vector<unsigned> atoms(n), from, degrees(n, 2);
      for (unsigned a = 0; a < n; ++a) {
        atoms[a] = (i + a) % 10;
        from.insert(from.end(), {(a + n - 1) % n, (a + 1) % n});
      }
      Expression h = network->atoms.columns(batch.new_graph(), atoms);
      for (int round = 0; round < 3; ++round) {
        const Expression messages = relu(gather(network->message(h), from, 1));
        h = relu(network->update(h) + segment_sum(messages, degrees));
      }
      const Expression scores = network->output(segment_sum(h, std::vector<unsigned>{n}));
      batch.add_loss(sum_batches(cross_entropy(scores, std::vector<unsigned>{i % 2})));
    }
  };
}

/// Losses of structured prediction for sentences of 5 to 36 words, from scores with gradients.
std::vector<std::pair<std::string, AddLosses>> structured() {
  constexpr unsigned kLabels = 8;
  const auto model = std::make_shared<ParameterCollection>(1);
  const Parameter shift = model->add_parameters({1});
  // Depends on data: a value of parameters alone would be computed once for all samples.
  const auto scores = [=](ComputationGraph& graph, const Dim& dim) {
    return input(graph, dim, std::vector<float>(dim.batch_size() * dim.bd)) + shift;
  };
  // The scores of all parts of up to `longest` words, by length.
  const auto parts = [=](ComputationGraph& graph, unsigned words, unsigned longest) {
    std::vector<Expression> result;
    for (unsigned width = 1; width <= std::min(words, longest); ++width) {
      result.push_back(scores(graph, Dim({kLabels}, words - width + 1)));
    }
    return result;
  };
  const auto heads = [](unsigned n) {
    std::vector<unsigned> heads(n);
    for (unsigned word = 0; word < n; ++word) heads[word] = word;
    return heads;
  };
  const auto labels = [](unsigned n) {
    std::vector<unsigned> labels(n);
    for (unsigned word = 0; word < n; ++word) labels[word] = word % kLabels;
    return labels;
  };
  const nn::LinearChainCRF chain(*model, kLabels);
  const nn::SemiMarkovCRF segments(*model, kLabels, {.max_length = 6});
  const auto of_all = [model](auto loss) -> AddLosses {
    return [model, loss](Minibatch& batch) {
      for (unsigned i = 0; i < kSamples; ++i) batch.add_loss(loss(batch.new_graph(), 5 + i % 32));
    };
  };
  return {{"linear_chain", of_all([=](ComputationGraph& graph, unsigned n) {
             return chain.loss(scores(graph, {kLabels, n}), labels(n));
           })},
          {"semi_markov", of_all([=](ComputationGraph& graph, unsigned n) {
             std::vector<nn::LabelledSpan> gold;
             for (unsigned i = 0; i < n; ++i) gold.push_back({i, i + 1, i % kLabels});
             return segments.loss(parts(graph, n, segments.max_length()), gold);
           })},
          {"spans", of_all([=](ComputationGraph& graph, unsigned n) {
             std::vector<nn::LabelledSpan> gold;
             for (unsigned i = 0; i < n; ++i) {
               gold.push_back({i, n, 0});
               if (i + 1 < n) gold.push_back({i, i + 1, 1});
             }
             return nn::span_loss(parts(graph, n, n), gold);
           })},
          {"projective_trees", of_all([=](ComputationGraph& graph, unsigned n) {
             return nn::projective_tree_loss(scores(graph, Dim({n + 1, n})), heads(n));
           })},
          {"matrix_trees", of_all([=](ComputationGraph& graph, unsigned n) {
             return nn::matrix_tree_loss(scores(graph, Dim({n + 1, n})), heads(n));
           })},
          {"ctc", of_all([=](ComputationGraph& graph, unsigned n) {
             return nn::ctc_loss(scores(graph, Dim({kLabels + 1, 4 * n})), labels(n));
           })}};
}

// ------------------------------------------------------------------------------------ on the CPU

struct ReportQuantity {
  Quantity quantity;
  std::uint64_t Report::*of;
};
const ReportQuantity kOfReport[] = {{{"nodes"}, &Report::nodes},
                                    {{"batches"}, &Report::batches},
                                    {{"least_batches"}, &Report::bound},
                                    {{"kernel_calls"}, &Report::kernel_calls},
                                    {{"copied_bytes"}, &Report::copied_bytes},
                                    {{"value_bytes", 0.01}, &Report::value_bytes},
                                    {{"gradient_bytes", 0.01}, &Report::gradient_bytes},
                                    {{"peak_bytes", 0.01}, &Report::peak_bytes}};

Amounts work_of(bool train, const AddLosses& add_losses) {
  Minibatch batch({.inference = !train});
  add_losses(batch);
  EXPECT_TRUE(std::isfinite(batch.forward()));
  if (train) batch.backward();
  const Report report = batch.explain();
  Amounts amounts;
  for (const ReportQuantity& each : kOfReport) amounts.push_back(report.*each.of);
  return amounts;
}

TEST(WorkCounts, StayWithinTheirBounds) {
  Table work;
  for (const bool train : {true, false}) {
    for (const ModelKind& model : all_models()) {
      for (const Form form : {Form::fused, Form::ops, Form::steps}) {
        if (form == Form::steps && !model.has_steps) continue;
        const auto workload = model.make(kHidden, form);
        work[name_of(model, train, form)] = work_of(train, [&](Minibatch& batch) {
          for (unsigned i = 0; i < kSamples; ++i) {
            batch.add_loss(workload->loss(batch.new_graph(), i));
          }
        });
      }
    }
    std::vector<std::pair<std::string, AddLosses>> others = structured();
    others.insert(
        others.end(),
        {{"waves", decoders()}, {"transformer", transformer()}, {"molecules", molecules()}});
    for (const auto& [name, add_losses] : others) {
      work[name + (train ? "/train" : "/infer")] = work_of(train, add_losses);
    }
  }
  std::vector<Quantity> quantities;
  for (const ReportQuantity& each : kOfReport) quantities.push_back(each.quantity);
  check("work_bounds.txt", quantities, work);
  // Batches are close to their lower bound.
  for (const auto& [name, amounts] : work) {
    if (name.starts_with("waves")) continue;  // waves cannot be joined
    const bool is_far = name.starts_with("lattice") || name.starts_with("random") ||
                        name.starts_with("projective") ||
                        (name.find("tagger") != name.npos && name.ends_with("ops"));
    const auto batches = static_cast<double>(amounts[1]), least = static_cast<double>(amounts[2]);
    EXPECT_LE(batches, (is_far ? 2 : 1.05) * least) << name;
  }
}

// ------------------------------------------------------------------------------------ on a device

struct DeviceQuantity {
  Quantity quantity;
  std::uint64_t DeviceCounts::*of;
};
const DeviceQuantity kOfDevice[] = {{{"launches"}, &DeviceCounts::launches},
                                    {{"copies_to_device"}, &DeviceCounts::copies_to_device},
                                    {{"bytes_to_device", 0.01}, &DeviceCounts::bytes_to_device},
                                    {{"copies_to_host"}, &DeviceCounts::copies_to_host},
                                    {{"bytes_to_host"}, &DeviceCounts::bytes_to_host},
                                    {{"synchronisations"}, &DeviceCounts::synchronisations},
                                    {{"allocations"}, &DeviceCounts::allocations},
                                    {{"fallbacks"}, &DeviceCounts::fallbacks}};

/// The work for 8 samples, after three minibatches, in which memory is allocated.
struct DeviceUse {
  DeviceCounts forward, backward, update;
  std::uint64_t kernel_calls = 0;
};

DeviceUse device_use(Workload& workload, bool train) {
  Minibatch batch({.inference = !train});
  SimpleSGDTrainer trainer(workload.parameters(), 1e-4f);
  DeviceUse use;
  for (int i = 0; i < 4; ++i) {
    batch.clear();
    PhaseCounts counts(*default_device());
    for (unsigned s = 0; s < 8; ++s) batch.add_loss(workload.loss(batch.new_graph(), s));
    EXPECT_TRUE(std::isfinite(batch.forward()));
    counts.end(Phase::forward);
    if (train) {
      const Gradients& gradients = batch.backward();
      counts.end(Phase::backward);
      trainer.update(gradients);
      counts.end(Phase::update);
    }
    use = {counts.of(Phase::forward), counts.of(Phase::backward), counts.of(Phase::update),
           batch.explain().kernel_calls};
  }
  return use;
}

/// Rules for models with fused cells, in addition to the bounds.
void check_rules(const std::string& name, const DeviceUse& use) {
  SCOPED_TRACE(name);
  EXPECT_LE(use.forward.launches + use.backward.launches, 3 * use.kernel_calls);
  for (const DeviceCounts* pass : {&use.forward, &use.backward, &use.update}) {
    EXPECT_EQ(pass->allocations, 0u);
    EXPECT_EQ(pass->fallbacks, 0u);
  }
  // The device begins while a pass is still being queued: lists travel after 12, 24, and then every
  // 48 calls.
  for (const DeviceCounts* pass : {&use.forward, &use.backward}) {
    EXPECT_LE(pass->copies_to_device, 3 + use.kernel_calls / 24);
  }
  // The losses come back in one copy. The host waits for them, and for nothing else.
  EXPECT_EQ(use.forward.copies_to_host, 1u);
  EXPECT_EQ(use.forward.synchronisations, 1u);
  EXPECT_EQ(use.backward.copies_to_host, 0u);
  EXPECT_EQ(use.backward.synchronisations, 0u);
  // The check of gradients stays on the device. The trainer reads its result later.
  EXPECT_LE(use.update.copies_to_device, 1u);
  EXPECT_LE(use.update.copies_to_host, 1u);
  EXPECT_EQ(use.update.synchronisations, 0u);
}

TEST(DeviceWorkCounts, StayWithinTheirBounds) {
  ASSERT_EQ(default_device()->name(), "cuda-host");  // ctest sets it
  std::vector<Quantity> quantities;
  for (const DeviceQuantity& each : kOfDevice) quantities.push_back(each.quantity);
  Table table;
  for (const ModelKind& model : all_models()) {
    for (const Form form : {Form::fused, Form::ops}) {
      const auto workload = model.make(kHidden, form);
      for (const bool train : {true, false}) {
        const DeviceUse use = device_use(*workload, train);
        const std::string name = name_of(model, train, form);
        if (form == Form::fused) check_rules(name, use);
        const auto add = [&](const char* phase, const DeviceCounts& counts) {
          for (const DeviceQuantity& each : kOfDevice) {
            table[name + phase].push_back(counts.*each.of);
          }
        };
        add("/forward", use.forward);
        if (!train) continue;
        add("/backward", use.backward);
        add("/update", use.update);
      }
    }
  }
  check("device_work_bounds.txt", quantities, table);
}

}  // namespace
}  // namespace dynet_like::bench
