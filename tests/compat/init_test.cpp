// <dynet/init.h>, <dynet/globals.h>, <dynet/devices.h>: the settings of a process.
#include <dynet/devices.h>
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/init.h>
#include <dynet/training.h>
#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"
#include "tests/support/message_of.h"

namespace {

using namespace dynet;

// A command line, and what is left of it.
struct CommandLine {
  explicit CommandLine(std::vector<std::string> arguments) : words(std::move(arguments)) {
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    argc = static_cast<int>(words.size());
    argv = pointers.data();
  }
  std::vector<std::string> words;
  std::vector<char*> pointers;
  int argc = 0;
  char** argv = nullptr;
};

std::vector<float> first_values() {
  ParameterCollection model;
  return as_vector(*model.add_parameters({3}).values());
}

TEST(CompatInitTest, OptionsAreTakenOutOfTheCommandLine) {
  CommandLine line({"program", "--dynet-mem", "2048", "data.txt", "--dynet-seed=7",
                    "--dynet_autobatch", "2", "--dynet-weight-decay", "1e-4", "--dynet-gpus", "1",
                    "--dynet-profiling", "1", "--dynet-threads", "2", "--verbose"});
  const DynetParams params = extract_dynet_params(line.argc, line.argv, true);
  EXPECT_EQ(params.mem_descriptor, "2048");
  EXPECT_EQ(params.random_seed, 7u);
  EXPECT_EQ(params.autobatch, 2);
  EXPECT_FLOAT_EQ(params.weight_decay, 1e-4f);
  EXPECT_EQ(params.profiling, 1);
  EXPECT_EQ(params.threads, 2u);
  EXPECT_TRUE(params.shared_parameters);
  ASSERT_EQ(line.argc, 3);
  EXPECT_STREQ(line.argv[0], "program");
  EXPECT_STREQ(line.argv[1], "data.txt");
  EXPECT_STREQ(line.argv[2], "--verbose");
  EXPECT_EQ(line.argv[3], nullptr);
}

TEST(CompatInitTest, ACommandLineWithoutOptionsStaysAsItIs) {
  char name[] = "program", guard[] = "guard";
  char* words[] = {name, guard};
  char** argv = words;
  int argc = 1;  // and no null pointer at its end
  extract_dynet_params(argc, argv);
  EXPECT_EQ(argc, 1);
  EXPECT_EQ(words[1], guard);
}

TEST(CompatInitTest, OptionsThatMakeNoSenseAreRefused) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"program", "--dynet-seed"},
                                                {"program", "--dynet-seed", "many"},
                                                {"program", "--dynet-memory", "1"},
                                                {"program", "--dynet-autobatch", "9"}}) {
    CommandLine line(wrong);
    EXPECT_THROW(initialize(line.argc, line.argv), dynet_like::UsageError) << wrong[1];
  }
}

TEST(CompatInitTest, TheSeedDecidesAllRandomNumbers) {
  DynetParams params;
  params.random_seed = 5;
  initialize(params);
  const auto values = first_values();
  const auto word = (*rndeng)();
  ComputationGraph graph;
  const auto numbers = as_vector(random_uniform(graph, {4}, 0, 1).value());
  reset_rng(5);
  EXPECT_EQ(first_values(), values);
  EXPECT_EQ((*rndeng)(), word);
  ComputationGraph again;
  EXPECT_EQ(as_vector(random_uniform(again, {4}, 0, 1).value()), numbers);
  default_device->reset_rng(6);
  EXPECT_NE(first_values(), values);
}

TEST(CompatInitTest, SettingsAreThoseOfNewGraphsAndCollections) {
  CommandLine line({"program", "--dynet-l2", "0.5", "--dynet-autobatch", "0"});
  initialize(line.argc, line.argv);
  EXPECT_EQ(ParameterCollection().get_weight_decay_lambda(), 0.5f);
  EXPECT_EQ(default_weight_decay_lambda, 0.5f);
  EXPECT_EQ(detail::graph_options().policy, dynet_like::batching::Policy::none);
  initialize(DynetParams());
  EXPECT_EQ(detail::graph_options().policy, dynet_like::batching::Policy::automatic);
  EXPECT_EQ(ParameterCollection().get_weight_decay_lambda(), 0.0f);
}

TEST(CompatInitTest, CleanupForgetsGradients) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({1});
  ComputationGraph graph;
  graph.backward(parameter(graph, p));
  EXPECT_TRUE(p.p->has_grad());
  cleanup();
  EXPECT_FALSE(p.p->has_grad());
}

TEST(CompatInitTest, TheFirstDeviceIsTheCpu) {
  DeviceManager* const manager = get_device_manager();
  manager->clear();
  EXPECT_EQ(manager->num_devices(), 1u);
  EXPECT_EQ(manager->get(0), default_device);
  EXPECT_EQ(manager->get_global_device("CPU"), default_device);
  EXPECT_EQ(manager->get_global_device(""), default_device);
  EXPECT_EQ(get_global_device("CPU"), default_device);
  EXPECT_EQ(devices.at(0), default_device);
  EXPECT_THROW(manager->get(1), dynet_like::UsageError);
  manager->add(new Device_CPU);
  EXPECT_EQ(manager->num_devices(), 2u);
  EXPECT_NE(manager->get(1), default_device);
  manager->clear();
  EXPECT_EQ(manager->get(0), default_device);
  EXPECT_EQ(default_device->type, DeviceType::CPU);
  EXPECT_EQ(default_device->name, "CPU");
  show_pool_mem_info();
}

TEST(CompatInitTest, InitializeFindsTheDevicesThatAreThere) {
  CommandLine line({"program"});
  initialize(line.argc, line.argv);
  EXPECT_EQ(get_device_manager()->num_devices(), dynet_like::device_names().size());
  EXPECT_EQ(devices.size(), dynet_like::device_names().size());
  get_device_manager()->clear();
}

void expect_no_gpu(std::vector<std::string> words, const std::string& missing) {
  CommandLine line(std::move(words));
  Device* const before = default_device;
  try {
    initialize(line.argc, line.argv);
    ADD_FAILURE() << "no error for " << missing;
  } catch (const dynet_like::DeviceError& error) {
    EXPECT_TRUE(dynet_like::mentions(std::string(error.what()), "got \"" + missing + "\""))
        << error.what();
  }
  EXPECT_EQ(default_device, before);
}

TEST(CompatInitTest, AGpuThatIsNotThereIsNamed) {
  expect_no_gpu({"program", "--dynet-devices", "CPU,GPU:77"}, "cuda:77");
  expect_no_gpu({"program", "--dynet-devices=cuda:77"}, "cuda:77");
  expect_no_gpu({"program", "--dynet-gpu-ids", "77"}, "cuda:77");
  expect_no_gpu({"program", "--dynet-gpus", "78"},
                dynet_like::device_names().back().starts_with("cuda:") ? "cuda:77" : "cuda:0");
  EXPECT_THROW(get_device_manager()->get_global_device("GPU:77"), dynet_like::DeviceError);
  CommandLine line({"program", "--dynet-gpu-ids", "1,x"});
  EXPECT_THROW(extract_dynet_params(line.argc, line.argv), dynet_like::UsageError);
}

// As DyNet's example of several devices begins, with every device there is.
TEST(CompatInitTest, CollectionsAndGraphsLiveOnTheDefaultDevice) {
  for (const std::string& name : dynet_like::device_names()) {
    SCOPED_TRACE(name);
    const std::string devices = "CPU," + name;
    CommandLine line({"program", "--dynet-devices", devices});
    initialize(line.argc, line.argv);
    EXPECT_EQ(default_device, get_device_manager()->get_global_device(name));
    EXPECT_EQ(default_device->type, name == "cpu" ? DeviceType::CPU : DeviceType::GPU);
    ParameterCollection model;
    EXPECT_EQ(model.device()->name(), name);
    const Parameter p = model.add_parameters({2}, ParameterInitConst(3));
    SimpleSGDTrainer trainer(model, 0.5f);
    const Tensor values = *p.values();
    Device* const cpu = get_global_device("CPU");
    ComputationGraph graph;
    const Expression x = to_device(parameter(graph, p), cpu);
    graph.backward(sum_elems(x) * input(graph, 2.0f, cpu));
    EXPECT_EQ(as_vector(p.p->g), (std::vector<float>{2, 2}));
    trainer.update();
    EXPECT_EQ(as_vector(values), (std::vector<float>{2, 2}));
    values.v[0] = 7;
    ComputationGraph next;
    EXPECT_EQ(as_vector(parameter(next, p).value()), (std::vector<float>{7, 2}));
  }
  get_device_manager()->clear();
}

std::uint64_t batches_of_two_samples() {
  ComputationGraph graph;
  const Expression x = tanh(input(graph, 1.0f)), y = tanh(input(graph, 2.0f));
  graph.forward(x + y);
  return graph.explain().batches;
}

TEST(CompatInitTest, ProgramsSetTheFlagOfBatching) {
  initialize(DynetParams());
  EXPECT_EQ(autobatch_flag, 1);
  EXPECT_EQ(batches_of_two_samples(), 2u);
  autobatch_flag = 0;
  EXPECT_EQ(batches_of_two_samples(), 3u);
  {
    ComputationGraph batched(true);
    batched.forward(tanh(input(batched, 1.0f)) + tanh(input(batched, 2.0f)));
    EXPECT_EQ(batched.explain().batches, 2u);
  }
  for (const int batching : {1, 2, 3, 99}) {
    autobatch_flag = batching;
    EXPECT_EQ(batches_of_two_samples(), 2u) << batching;
  }
  {
    ComputationGraph living;
    autobatch_flag = 5;
    EXPECT_THROW(ComputationGraph(), dynet_like::UsageError);
    EXPECT_EQ(as_scalar(input(living, 1.0f).value()), 1);
  }
  CommandLine line({"program", "--dynet-autobatch", "0"});
  initialize(line.argc, line.argv);
  EXPECT_EQ(autobatch_flag, 0);
  EXPECT_EQ(batches_of_two_samples(), 3u);
  initialize(DynetParams());
  EXPECT_EQ(batches_of_two_samples(), 2u);
}

TEST(CompatInitTest, ProfilesAreWritten) {
  const auto written = [](auto&& run) {
    testing::internal::CaptureStderr();
    run();
    return testing::internal::GetCapturedStderr();
  };
  cleanup();
  EXPECT_EQ(written([] { batches_of_two_samples(); }), "");
  EXPECT_EQ(written([] { cleanup(); }), "");
  profiling_flag = 1;
  EXPECT_EQ(written([] { batches_of_two_samples(); }), "");
  {
    ComputationGraph graph;
    graph.forward(tanh(input(graph, 1.0f)));
    graph.clear();
  }
  const std::string profile = written([] { cleanup(); });
  EXPECT_TRUE(dynet_like::mentions(profile, "profile of 3 graphs: "));
  EXPECT_TRUE(dynet_like::mentions(profile, "seconds in kernels"));
  EXPECT_TRUE(dynet_like::mentions(profile, "tanh                               3           2"));
  EXPECT_EQ(written([] { cleanup(); }), "");
  CommandLine line({"program", "--dynet-profiling", "2"});
  initialize(line.argc, line.argv);
  EXPECT_EQ(profiling_flag, 2);
  EXPECT_TRUE(
      dynet_like::mentions(written([] { batches_of_two_samples(); }), "3 nodes in 2 batches"));
  initialize(DynetParams());
  EXPECT_EQ(written([] { batches_of_two_samples(); }), "");
  written([] { cleanup(); });
}

// What a run draws after the program has done something with the engine.
template <class Prepare>
std::vector<float> drawn_after(Prepare prepare) {
  prepare();
  std::vector<float> all = first_values();
  ComputationGraph graph;
  const Expression x = input(graph, {20}, std::vector<float>(20, 1));
  for (const float value : as_vector(dropout(x, 0.5f).value())) all.push_back(value);
  all.push_back(rand01());
  for (const float value : first_values()) all.push_back(value);
  return all;
}

TEST(CompatInitTest, ProgramsReplaceTheEngine) {
  const auto replaced = [](unsigned seed) {
    return drawn_after([seed] {
      delete rndeng;
      rndeng = new std::mt19937(seed);
    });
  };
  const std::vector<float> first = replaced(5);
  EXPECT_EQ(replaced(5), first);
  EXPECT_NE(replaced(6), first);
  EXPECT_EQ(drawn_after([] { rndeng->seed(5); }), first);
  EXPECT_EQ(drawn_after([] { *rndeng = std::mt19937(5); }), first);
  EXPECT_EQ(drawn_after([] { reset_rng(5); }), first);
  std::mt19937 own(5);
  delete rndeng;
  EXPECT_EQ(drawn_after([&] { rndeng = &own; }), first);
  DynetParams params;
  params.random_seed = 5;
  EXPECT_EQ(drawn_after([&] { initialize(params); }), first);
  delete rndeng;  // DyNet's initialize makes a new one, too
  EXPECT_EQ(drawn_after([&] { initialize(params); }), first);
  delete rndeng;
  rndeng = nullptr;
  EXPECT_NE(drawn_after([] {}), first);
  EXPECT_NE(rndeng, nullptr);
}

}  // namespace
