// State that all graphs and collections of a process share, and the --dynet-* options of the
// command line.
#include <charconv>
#include <cstring>
#include <mutex>
#include <string_view>

#include "dynet/globals.h"
#include "dynet/init.h"
#include "dynet/model.h"
#include "dynet_like/compat/profile.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"

namespace dynet {

namespace {

// A program may delete an engine, so they are never freed here; the list keeps them reachable.
std::mt19937* new_engine(unsigned seed) {
  static auto* const all = new std::vector<std::mt19937*>;
  return all->emplace_back(new std::mt19937(seed));
}

// 0: a different seed in every run.
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

namespace {

std::mutex random_mutex;

// The engine cannot tell that a program has used it. So its state is compared with the last one.
dynet_like::Random& random_of_now() {
  static dynet_like::Random random;
  static std::mt19937 seen(0);
  if (rndeng == nullptr) rndeng = new_engine(chosen_seed(0));
  if (*rndeng != seen) {
    const std::uint64_t high = (*rndeng)();
    random = dynet_like::Random(high << 32 | (*rndeng)());
    seen = *rndeng;
  }
  return random;
}

}  // namespace

dynet_like::Random& detail::random() {
  const std::lock_guard lock(random_mutex);
  return random_of_now();
}
std::uint64_t detail::next_seed() {
  const std::lock_guard lock(random_mutex);
  dynet_like::Random& random = random_of_now();
  const std::uint64_t high = random();
  return high << 32 | random();
}
dynet_like::Gradients& detail::gradients() {
  static dynet_like::Gradients gradients;
  return gradients;
}

namespace {

dynet_like::batching::Policy policy_of(int autobatch) {
  using enum dynet_like::batching::Policy;
  constexpr dynet_like::batching::Policy kPolicies[] = {none, automatic, depth, agenda};
  if (autobatch == 99) return automatic;  // DyNet tries all policies
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
  static GraphSettings settings;
  return settings;
}

}  // namespace

const dynet_like::GraphOptions& detail::graph_options() {
  GraphSettings& settings = graph_settings();
  dynet_like::GraphOptions& options = settings.options;
  const dynet_like::batching::Policy policy = policy_of(autobatch_flag);
  const bool measure_time = profiling_flag > 0;
  const auto device = detail::device();
  if (options.policy != policy || options.measure_time != measure_time ||
      options.device != device) {
    options.policy = policy;
    options.device = device;
    options.measure_time = measure_time;
    ++settings.version;
  }
  return options;
}
unsigned detail::graph_options_version() { return graph_settings().version; }

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

// "a", "b" of "a,b".
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  for (std::size_t comma = 0; comma != list.npos; list.remove_prefix(comma + 1)) {
    comma = list.find(',');
    parts.push_back(list.substr(0, comma));
    if (comma == list.npos) break;
  }
  return parts;
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
    {"gpus", true,
     [](DynetParams& params, std::string_view value) {
       params.ngpus_requested = true;
       params.requested_gpus = static_cast<int>(number<unsigned>(value));
     }},
    {"gpu-ids", true,
     [](DynetParams& params, std::string_view value) {
       params.ids_requested = true;
       for (const std::string_view id : split(value)) {
         const std::size_t at = number<std::uint8_t>(id);
         if (params.gpu_mask.size() <= at) params.gpu_mask.resize(at + 1, 0);
         params.gpu_mask[at] = 1;
       }
     }},
    {"devices", true,
     [](DynetParams& params, std::string_view value) {
       for (const std::string_view name : split(value)) params.devices.emplace_back(name);
     }},
    {"gpu", false,
     [](DynetParams& params, std::string_view) {
       params.ngpus_requested = true;
       params.requested_gpus = 1;
     }},
    {"viz", false, accept}};

std::string_view without_prefix(std::string_view argument) {
  for (const std::string_view prefix : {"--dynet-", "--dynet_"}) {
    if (argument.starts_with(prefix)) return argument.substr(prefix.size());
  }
  return {};
}

// "seed" for "--dynet-seed", "--dynet_seed" and "--dynet-seed=1"; empty for other arguments.
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
  std::vector<std::string_view> names;
  for (const Option& option : kOptions) names.push_back(option.name);
  throw dynet_like::UsageError("[dynet::initialize] need a known option; got --dynet-" + name +
                               dynet_like::detail::nearest_names_text(name, names));
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
  if (kept < argc) argv[kept] = nullptr;  // there is room, since an argument was removed
  argc = kept;
  return params;
}

namespace {

// All requested devices must be there. The default is the first that is not the CPU; null if no
// device is requested.
Device* choose_device(const DynetParams& params) {
  std::vector<std::string> names = params.devices;
  for (std::size_t id = 0; params.ids_requested && id < params.gpu_mask.size(); ++id) {
    if (params.gpu_mask[id] != 0) names.push_back("GPU:" + std::to_string(id));
  }
  for (int id = 0; params.ngpus_requested && id < params.requested_gpus; ++id) {
    names.push_back("GPU:" + std::to_string(id));
  }
  if (params.cpu_requested) names.push_back("CPU");
  Device* chosen = nullptr;
  for (const std::string& name : names) {
    Device* const device = get_global_device(name);
    const auto core = device->core();  // throws if the device cannot be opened
    if (chosen == nullptr || chosen->type == DeviceType::CPU) chosen = device;
  }
  const auto core = chosen == nullptr ? detail::device() : chosen->core();
  if (params.shared_parameters && core != nullptr && !core->is_cpu()) {
    throw dynet_like::UsageError(
        "[dynet::initialize] need the CPU for parameters that processes share; got " +
        core->name());
  }
  return chosen;
}

}  // namespace

void initialize(const DynetParams& params) {
  policy_of(params.autobatch);  // throws before anything is changed
  get_device_manager()->add_all();
  Device* const device = choose_device(params);
  if (device != nullptr) {
    default_device = device;
    // A program that asks for the CPU gets it, whatever the environment says.
    if (device->type == DeviceType::CPU) device->set_core(dynet_like::cpu_device());
  }
  devices.clear();
  for (std::size_t i = 0; i < get_device_manager()->num_devices(); ++i) {
    devices.push_back(get_device_manager()->get(i));
  }
  autobatch_flag = params.autobatch;
  profiling_flag = params.profiling;
  GraphSettings& settings = graph_settings();
  settings.options.threads = params.threads;
  ++settings.version;
  default_weight_decay_lambda = params.weight_decay;
  detail::shares_parameters = params.shared_parameters;
  // A new engine, since a program may have deleted the last one.
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
