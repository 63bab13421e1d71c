// What all graphs and collections of a process share, and the command line's --dynet-* options.
#include <charconv>
#include <cstring>
#include <mutex>
#include <string_view>

#include "dynet/globals.h"
#include "dynet/init.h"
#include "dynet/model.h"
#include "dynet_like/compat/profile.h"
#include "dynet_like/core/errors.h"

namespace dynet {

namespace {

// Programs may own their engines, so that these are never freed: the list keeps them in reach.
std::mt19937* new_engine(unsigned seed) {
  static auto* const all = new std::vector<std::mt19937*>;
  return all->emplace_back(new std::mt19937(seed));
}

// 0: another one in every run.
unsigned chosen_seed(unsigned seed) { return seed != 0 ? seed : std::random_device{}(); }

}  // namespace

std::mt19937* rndeng = new_engine(chosen_seed(0));
Device* default_device = get_device_manager()->get(0);
std::vector<Device*> devices = {default_device};
float default_weight_decay_lambda = 0;
int autobatch_flag = 1;
int profiling_flag = 0;
NamedTimer timer;

bool detail::shares_parameters = false;

// The engine cannot say that it was changed, but what it would draw next has.
dynet_like::Random& detail::random() {
  static std::mutex mutex;
  static dynet_like::Random random;
  static std::mt19937 seen(0);
  const std::lock_guard lock(mutex);
  if (rndeng == nullptr) rndeng = new_engine(chosen_seed(0));
  if (*rndeng != seen) {
    const std::uint64_t high = (*rndeng)();
    random = dynet_like::Random(high << 32 | (*rndeng)());
    seen = *rndeng;
  }
  return random;
}
dynet_like::Gradients& detail::gradients() {
  static dynet_like::Gradients gradients;
  return gradients;
}

namespace {

dynet_like::batching::Policy policy_of(int autobatch) {
  using enum dynet_like::batching::Policy;
  constexpr dynet_like::batching::Policy kPolicies[] = {none, automatic, depth, agenda};
  if (autobatch == 99) return automatic;  // in DyNet: try all
  if (autobatch < 0 || autobatch > 3) {
    throw dynet_like::UsageError("[dynet] need --dynet-autobatch or autobatch_flag 0 to 3; got " +
                                 std::to_string(autobatch));
  }
  return kPolicies[autobatch];
}

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

const dynet_like::GraphOptions& detail::graph_options() {
  GraphSettings& settings = graph_settings();
  dynet_like::GraphOptions& options = settings.options;
  const dynet_like::batching::Policy policy = policy_of(autobatch_flag);
  const bool measure_time = profiling_flag > 0;
  if (options.policy != policy || options.measure_time != measure_time) {
    options.policy = policy;
    options.measure_time = measure_time;
    ++settings.version;
  }
  return options;
}
unsigned detail::graph_options_version() { return graph_settings().version; }

void Device::reset_rng(unsigned seed) { dynet::reset_rng(seed); }

DeviceManager::DeviceManager() { add(new Device_CPU); }
Device* DeviceManager::get(std::size_t i) {
  if (i >= num_devices()) {
    throw dynet_like::UsageError("[DeviceManager] need a device below " +
                                 std::to_string(num_devices()) + "; got " + std::to_string(i));
  }
  return devices_[i].get();
}
Device* DeviceManager::get_global_device(const std::string& name) {
  if (name.empty()) return default_device;
  for (const auto& device : devices_) {
    if (device->name == name) return device.get();
  }
  throw dynet_like::DeviceError(
      "[DeviceManager] need the name of a device that is there: \"CPU\"; got \"" + name +
      "\": this library computes on the CPU, so name that, or no device");
}
DeviceManager* get_device_manager() {
  static auto* const manager = new DeviceManager;  // programs may use it until the process ends
  return manager;
}
Device* get_global_device(const std::string& name) {
  return get_device_manager()->get_global_device(name);
}

void reset_rng(unsigned seed) {
  if (rndeng == nullptr) rndeng = new_engine(seed);
  rndeng->seed(seed);
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
  policy_of(params.autobatch);  // throws before anything is changed
  autobatch_flag = params.autobatch;
  profiling_flag = params.profiling;
  GraphSettings& settings = graph_settings();
  settings.options.threads = params.threads;
  ++settings.version;
  default_weight_decay_lambda = params.weight_decay;
  detail::shares_parameters = params.shared_parameters;
  // A new one: a program may have deleted the last.
  rndeng = new_engine(chosen_seed(params.random_seed));
}

void initialize(int& argc, char**& argv, bool shared_parameters) {
  initialize(extract_dynet_params(argc, argv, shared_parameters));
}

void cleanup() {
  detail::gradients().clear();
  detail::refresh_handed_out();
  detail::print_profile();
}

}  // namespace dynet
