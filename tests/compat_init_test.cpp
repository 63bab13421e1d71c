// <dynet/init.h>, <dynet/globals.h>, <dynet/devices.h>: the settings of a process.
#include <dynet/devices.h>
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/init.h>
#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"

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

TEST(CompatInitTest, ThereIsOneDevice) {
  DeviceManager* const manager = get_device_manager();
  EXPECT_EQ(manager->num_devices(), 1u);
  EXPECT_EQ(manager->get(0), default_device);
  EXPECT_EQ(manager->get_global_device("CPU"), default_device);
  EXPECT_EQ(manager->get_global_device(""), default_device);
  EXPECT_THROW(manager->get_global_device("GPU:0"), dynet_like::UsageError);
  EXPECT_THROW(manager->get(1), dynet_like::UsageError);
  EXPECT_EQ(default_device->type, DeviceType::CPU);
  EXPECT_EQ(default_device->name, "CPU");
  show_pool_mem_info();
}

}  // namespace
