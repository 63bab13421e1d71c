// The state of a trainer as text.
#include <charconv>
#include <deque>
#include <istream>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include "dynet/training.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet {

using dynet_like::TrainerState;
using dynet_like::UsageError;

namespace {

// A line "#Trainer# KIND", the settings, then for every moment and average a line of words and one
// of numbers, then "#End#". Floats have nine digits, enough to read back the same float.
void write_numbers(std::ostream& out, const dynet_like::Tensor& tensor) {
  char text[32];
  for (std::size_t i = 0; i < tensor.d.size(); ++i) {
    const auto end = std::to_chars(text, text + sizeof text, tensor.v[i]).ptr;
    out.write(text, end - text).put(' ');
  }
  out << '\n';
}

// In texts, a trainer with a cyclical rate has DyNet's name, CyclicalSGDTrainer.
constexpr std::string_view kDescends = "SimpleSGDTrainer() with Cyclical",
                           kCycles = "CyclicalSGDTrainer() with Cyclical";

std::string renamed(const std::string& kind, std::string_view from, std::string_view to) {
  return kind.starts_with(from) ? std::string(to) + kind.substr(from.size()) : kind;
}

// Reads word by word. Throws if a word is not as expected.
class Reader {
 public:
  explicit Reader(std::istream& in) : in_(in) {}

  std::string word(const char* what) {
    std::string result;
    if (!(in_ >> result)) refuse(what, "the end");
    return result;
  }
  std::string line(const char* what) {
    std::string result;
    if (!std::getline(in_ >> std::ws, result)) refuse(what, "the end");
    return result;
  }
  void expect(const char* wanted) {
    if (const std::string got = word(wanted); got != wanted) refuse(wanted, got);
  }
  float real_number(const char* what) {
    const std::string text = word(what);
    const auto number = dynet_like::detail::parse_float(text);
    if (!number) refuse(what, text);
    return *number;
  }
  std::uint64_t count(const char* what) {
    const std::string text = word(what);
    std::uint64_t result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc() || end != text.data() + text.size()) refuse(what, text);
    return result;
  }
  [[noreturn]] static void refuse(const std::string& need, const std::string& got) {
    throw UsageError("[Trainer::populate] need " + need + "; got " +
                     dynet_like::detail::quoted_text(got));
  }

 private:
  std::istream& in_;
};

// Keeps the numbers of moments and averages until the state is loaded.
class NumberStore {
 public:
  NumberStore(const ParameterCollection& collection, Reader& reader)
      : collection_(collection), reader_(reader) {}

  std::shared_ptr<dynet_like::ParameterStorage> parameter() {
    const std::string name = reader_.word("the name of a parameter");
    auto result = collection_.find(name);
    if (result == nullptr) Reader::refuse("the name of a parameter of the trainer", name);
    return result;
  }
  dynet_like::Tensor numbers_of(const dynet_like::ParameterStorage& parameter) {
    kept_.emplace_back(parameter.size());
    for (float& number : kept_.back()) number = reader_.real_number("a number");
    return dynet_like::Tensor(parameter.dim, kept_.back().data());
  }

 private:
  const ParameterCollection& collection_;
  Reader& reader_;
  std::deque<std::vector<float>> kept_;
};

}  // namespace

void Trainer::save(std::ostream& out) {
  hand_settings_to_core();
  const TrainerState state = core_->state();
  const auto old_precision = out.precision(9);
  out << "#Trainer# " << renamed(state.kind, kDescends, kCycles) << '\n'
      << state.updates << ' ' << state.clipped_updates << ' ' << state.learning_rate << ' '
      << state.clip_threshold << ' ' << (sparse_updates_enabled ? 0 : 1) << ' '
      << state.moving_average.kind << ' ' << state.moving_average.beta << ' '
      << state.moving_average.update_freq << '\n';
  for (const TrainerState::Moment& moment : state.moments) {
    out << "#Moment# " << moment.parameter->name << ' ' << moment.name << '\n';
    write_numbers(out, moment.values);
  }
  for (const TrainerState::Average& average : state.averages) {
    out << "#Average# " << average.parameter->name << ' ' << average.count << '\n';
    write_numbers(out, average.values);
  }
  out << "#End#\n";
  out.precision(old_precision);
}

void Trainer::populate(std::istream& in) {
  Reader reader(in);
  NumberStore store(collection_, reader);
  TrainerState state;
  reader.expect("#Trainer#");
  state.kind = renamed(reader.line("the kind of a trainer"), kCycles, kDescends);
  state.updates = reader.count("the number of updates");
  state.clipped_updates = reader.count("the number of clipped updates");
  state.learning_rate = reader.real_number("the learning rate");
  state.clip_threshold = reader.real_number("the clipping threshold");
  state.weight_decay = collection_.get_weight_decay_lambda();
  state.sparse_updates = reader.count("0 or 1") == 0 ? dynet_like::SparseUpdates::lazy
                                                     : dynet_like::SparseUpdates::exact;
  const std::string average = reader.word("a kind of moving average");
  if (!(std::istringstream(average) >> state.moving_average.kind)) {
    Reader::refuse("a kind of moving average", average);
  }
  state.moving_average.beta = reader.real_number("beta");
  state.moving_average.update_freq = static_cast<unsigned>(reader.count("a number of updates"));
  for (std::string word = reader.word("#End#"); word != "#End#"; word = reader.word("#End#")) {
    if (word != "#Moment#" && word != "#Average#") {
      Reader::refuse("#Moment#, #Average# or #End#", word);
    }
    const auto parameter = store.parameter();
    if (word == "#Moment#") {
      std::string name = reader.word("the name of a moment");
      state.moments.push_back({parameter, std::move(name), store.numbers_of(*parameter)});
    } else {
      const std::uint64_t count = reader.count("a number of values");
      state.averages.push_back({parameter, count, store.numbers_of(*parameter)});
    }
  }
  core_->load_state(state);
  take_settings_from_core();
}

}  // namespace dynet
