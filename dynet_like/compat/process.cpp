// What all graphs and collections of a process share, and the command line's --dynet-* options.
#include <charconv>
#include <cstring>
#include <string_view>

#include "dynet/globals.h"
#include "dynet/init.h"
#include "dynet/model.h"
#include "dynet_like/core/errors.h"

namespace dynet {

namespace {

std::mt19937& engine() {
  static std::mt19937 engine{std::random_device{}()};
  return engine;
}

DeviceManager& manager() {
  static DeviceManager manager;
  return manager;
}

}  // namespace

std::mt19937* rndeng = &engine();
Device* default_device = manager().get(0);
float default_weight_decay_lambda = 0;

dynet_like::Random& detail::random() {
  static dynet_like::Random random(engine()());
  return random;
}
dynet_like::Gradients& detail::gradients() {
  static dynet_like::Gradients gradients;
  return gradients;
}

namespace {

struct GraphSettings {
  dynet_like::GraphOptions options;
  unsigned version = 0;
};
GraphSettings& graph_settings() {
  static GraphSettings settings = [] {
    GraphSettings result;
    result.options.random = &detail::random();
    return result;
  }();
  return settings;
}

}  // namespace

const dynet_like::GraphOptions& detail::graph_options() { return graph_settings().options; }
unsigned detail::graph_options_version() { return graph_settings().version; }
void detail::set_graph_options(const dynet_like::GraphOptions& options) {
  graph_settings().options = options;
  ++graph_settings().version;
}

void Device::reset_rng(unsigned seed) { dynet::reset_rng(seed); }

Device* DeviceManager::get(std::size_t i) {
  static Device_CPU cpu;
  if (i >= num_devices()) {
    throw dynet_like::UsageError("[DeviceManager] need device 0, the CPU; got " +
                                 std::to_string(i));
  }
  return &cpu;
}
Device* DeviceManager::get_global_device(const std::string& name) {
  if (!name.empty() && name != "CPU") {
    throw dynet_like::UsageError("[DeviceManager] need \"CPU\" or \"\"; got \"" + name + "\"");
  }
  return get(0);
}
DeviceManager* get_device_manager() { return &manager(); }

void reset_rng(unsigned seed) {
  detail::random() = dynet_like::Random(seed);
  engine().seed(seed);
}

namespace {

struct Option {
  std::string_view name;
  bool takes_value;
  void (*set)(DynetParams& params, std::string_view value);
};

template <class Number>
Number number(std::string_view value) {
  Number result{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size()) {
    throw dynet_like::UsageError("[dynet::initialize] need a number; got \"" + std::string(value) +
                                 "\"");
  }
  return result;
}

void accept(DynetParams&, std::string_view) {}
void set_seed(DynetParams& params, std::string_view value) {
  params.random_seed = number<unsigned>(value);
}
void set_weight_decay(DynetParams& params, std::string_view value) {
  params.weight_decay = number<float>(value);
}

constexpr Option kOptions[] = {
    {"mem", true,
     [](DynetParams& params, std::string_view value) { params.mem_descriptor = value; }},
    {"seed", true, set_seed},
    {"weight-decay", true, set_weight_decay},
    {"l2", true, set_weight_decay},
    {"autobatch", true,
     [](DynetParams& params, std::string_view value) { params.autobatch = number<int>(value); }},
    {"profiling", true,
     [](DynetParams& params, std::string_view value) { params.profiling = number<int>(value); }},
    {"threads", true,
     [](DynetParams& params, std::string_view value) { params.threads = number<unsigned>(value); }},
    {"gpus", true, accept},
    {"gpu-ids", true, accept},
    {"devices", true, accept},
    {"gpu", false, accept},
    {"viz", false, accept}};

std::string_view without_prefix(std::string_view argument) {
  for (const std::string_view prefix : {"--dynet-", "--dynet_"}) {
    if (argument.starts_with(prefix)) return argument.substr(prefix.size());
  }
  return {};
}

// "seed" for "--dynet-seed", "--dynet_seed" and "--dynet-seed=1"; empty for what is no such option.
std::string option_name(std::string_view argument) {
  std::string name(without_prefix(argument));
  if (const std::size_t equals = name.find('='); equals != name.npos) name.resize(equals);
  for (char& c : name) c = c == '_' ? '-' : c;
  return name;
}

const Option& find_option(const std::string& name) {
  for (const Option& option : kOptions) {
    if (option.name == name) return option;
  }
  throw dynet_like::UsageError("[dynet::initialize] need a known option; got --dynet-" + name);
}

}  // namespace

DynetParams extract_dynet_params(int& argc, char**& argv, bool shared_parameters) {
  DynetParams params;
  params.shared_parameters = shared_parameters;
  int kept = argc > 0 ? 1 : 0;
  for (int i = kept; i < argc; ++i) {
    const std::string name = option_name(argv[i]);
    if (name.empty()) {
      argv[kept++] = argv[i];
      continue;
    }
    const Option& option = find_option(name);
    const char* const equals = std::strchr(argv[i], '=');
    if (option.takes_value && equals == nullptr && i + 1 == argc) {
      throw dynet_like::UsageError("[dynet::initialize] need a value for --dynet-" + name +
                                   "; got none");
    }
    const char* value = equals != nullptr ? equals + 1 : option.takes_value ? argv[++i] : "";
    option.set(params, value);
  }
  if (kept < argc) argv[kept] = nullptr;  // there is room: something was taken out
  argc = kept;
  return params;
}

void initialize(const DynetParams& params) {
  using dynet_like::batching::Policy;
  constexpr Policy kPolicies[] = {Policy::none, Policy::automatic, Policy::depth, Policy::agenda};
  if (params.autobatch < 0 || params.autobatch > 3) {
    throw dynet_like::UsageError("[dynet::initialize] need --dynet-autobatch 0 to 3; got " +
                                 std::to_string(params.autobatch));
  }
  dynet_like::GraphOptions options = detail::graph_options();
  options.policy = kPolicies[params.autobatch];
  options.threads = params.threads;
  options.measure_time = params.profiling > 0;
  detail::set_graph_options(options);
  default_weight_decay_lambda = params.weight_decay;
  reset_rng(params.random_seed != 0 ? params.random_seed : std::random_device{}());
}

void initialize(int& argc, char**& argv, bool shared_parameters) {
  initialize(extract_dynet_params(argc, argv, shared_parameters));
}

void cleanup() {
  detail::gradients().clear();
  detail::refresh_handed_out();
}

}  // namespace dynet
