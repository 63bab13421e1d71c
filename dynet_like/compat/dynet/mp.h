// DyNet's mp.h: training in several processes of one machine that share the parameters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/dict.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/lstm.h"
#include "dynet/training.h"

/// DyNet's header includes Boost's: programs say `using namespace boost::interprocess`.
namespace boost::interprocess {}

namespace dynet::mp {

/// A program's model: it learns from data D, with losses S. Losses are added, compared and printed,
/// by operators that need not be const, and are copied between processes byte by byte.
template <class D, class S>
class ILearner {
 public:
  virtual ~ILearner() = default;
  /// The loss of one datum; calls backward if `learn`. Trainers are called elsewhere.
  virtual S LearnFromDatum(const D& datum, bool learn) = 0;
  virtual void SaveModel() = 0;
};

/// Set by a program, for example when it is interrupted: training ends after the current part.
extern bool stop_requested;

real sum_values(const std::vector<real>& values);
real mean(const std::vector<real>& values);
std::string elapsed_time_string(const timespec& start, const timespec& end);

namespace detail {

/// A part of the data, as positions in the order of SharedWork.
struct Task {
  bool is_dev_set = false, end_of_epoch = false, learns = false, is_last = false;
  unsigned report_frequency = 0;
};

/// One end of a connection between two processes.
class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  template <class T>
  void write(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>, "losses are copied byte by byte");
    write_bytes(&value, sizeof(T));
  }
  template <class T>
  T read() const {
    static_assert(std::is_trivially_copyable_v<T>, "losses are copied byte by byte");
    T value;
    read_bytes(&value, sizeof(T));
    return value;
  }

 private:
  void write_bytes(const void* data, std::size_t size) const;
  void read_bytes(void* data, std::size_t size) const;

  int socket_;
};

/// Processes that this one starts and waits for.
class Children {
 public:
  using Work = std::function<void(const Channel& parent, unsigned child)>;

  /// Each process calls `work` and ends. It prints an exception to standard error.
  Children(unsigned count, const Work& work);
  /// Kills the processes that have not ended.
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  std::size_t size() const { return channels_.size(); }
  /// Throws std::runtime_error if the child has ended.
  const Channel& operator[](std::size_t child) const { return *channels_[child]; }
  void wait();

 private:
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<int> processes_;
};

/// State that all processes share: the order of the data, the position in it, the parameters'
/// gradients.
class SharedWork {
 public:
  using Parameters = std::vector<std::shared_ptr<dynet_like::ParameterStorage>>;

  /// Throws UsageError unless all parameters are in shared memory.
  SharedWork(std::size_t data, Parameters parameters);
  ~SharedWork();
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  /// Drops what this process has inherited from its parent but must not use.
  void begin_child();
  void set(const unsigned* begin, const unsigned* end);
  /// The position of the next datum. Each datum is given to one process.
  std::optional<unsigned> next();
  /// Changes the shared parameters with the gradients of this process. One process at a time.
  void update(Trainer& trainer);
  /// Adds the gradients of this process to those of all. One process at a time.
  void give_gradients();
  /// Adds the gradients of all to those of this process.
  void take_gradients();
  /// Says that other processes may have changed the parameters.
  void count_change() const;

 private:
  struct Shared;
  Shared& shared() const;

  Parameters parameters_;
  dynet_like::detail::Block block_;
  /// By parameter.
  std::vector<dynet_like::detail::Block> gradients_;
};

/// The parameters that this process shares with the processes that it forks. Throws UsageError if
/// there are none.
SharedWork::Parameters shared_parameters();

/// The work of a child, until it gets the last task.
template <class D, class S>
void run_child(const Channel& parent, unsigned child, SharedWork& work, ILearner<D, S>& learner,
               Trainer* trainer, const std::vector<D>& train_data, const std::vector<D>& dev_data) {
  work.begin_child();
  for (Task task = parent.read<Task>(); !task.is_last; task = parent.read<Task>()) {
    S total = S(), recent = S();
    unsigned count = 0;
    while (const std::optional<unsigned> i = work.next()) {
      work.count_change();
      const S loss =
          learner.LearnFromDatum((task.is_dev_set ? dev_data : train_data)[*i], task.learns);
      if (task.learns && trainer != nullptr) work.update(*trainer);
      total += loss;
      recent += loss;
      if (++count % std::max(task.report_frequency, 1u) != 0 || task.report_frequency == 0)
        continue;
      if (child == 0)
        std::cerr << (task.is_dev_set ? "dev" : "train") << " loss: " << recent << '\n';
      recent = S();
    }
    if (task.learns && trainer == nullptr) work.give_gradients();
    if (task.end_of_epoch && trainer != nullptr) trainer->update_epoch();
    parent.write(total);
  }
}

/// The sum of the losses of a part of the data.
template <class S>
S run_part(const unsigned* begin, const unsigned* end, const Children& children, SharedWork& work,
           const Task& task) {
  work.set(begin, end);
  S total = S();
  for (std::size_t i = 0; i < children.size(); ++i) children[i].write(task);
  for (std::size_t i = 0; i < children.size(); ++i) total += children[i].read<S>();
  work.count_change();
  return total;
}

inline void send_home(Children& children) {
  Task last;
  last.is_last = true;
  for (std::size_t i = 0; i < children.size(); ++i) children[i].write(last);
  children.wait();
}

inline std::vector<unsigned> positions(std::size_t count) {
  std::vector<unsigned> all(count);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

/// Iterates over the training data, in a new order each time, and evaluates the development data
/// after every `dev_frequency` data. run(begin, end, is_dev_set, end_of_epoch) returns a loss.
template <class S, class Run>
void train(std::size_t train_size, std::size_t dev_size, unsigned iterations,
           unsigned dev_frequency, const Run& run, const std::function<void()>& save) {
  std::vector<unsigned> train_order = positions(train_size);
  const std::vector<unsigned> dev_order = positions(dev_size);
  const unsigned part = std::max(dev_frequency, 1u);
  std::optional<S> best;
  for (unsigned iteration = 0; iteration < iterations && !stop_requested; ++iteration) {
    std::shuffle(train_order.begin(), train_order.end(), *rndeng);
    for (std::size_t begin = 0; begin < train_size && !stop_requested; begin += part) {
      const std::size_t end = std::min(begin + part, train_size);
      const double done = iteration + static_cast<double>(end) / static_cast<double>(train_size);
      S loss = run(&train_order[0] + begin, &train_order[0] + end, false, end == train_size);
      std::cerr << done << "\tloss = " << loss << '\n';
      if (stop_requested) break;
      S dev_loss = run(dev_order.data(), dev_order.data() + dev_size, true, false);
      const bool is_best = !best || dev_loss < *best;
      std::cerr << done << "\tdev loss = " << dev_loss << (is_best ? " (New best!)" : "") << '\n';
      if (stop_requested || !is_best) continue;
      save();
      best = dev_loss;
    }
  }
}

/// Goes through all data once. Afterwards this process has the gradients of all children.
template <class D, class S>
S run_minibatch(unsigned num_children, ILearner<D, S>* learner, SharedWork::Parameters parameters,
                const std::vector<D>& data) {
  SharedWork work(data.size(), std::move(parameters));
  Children children(num_children, [&](const Channel& parent, unsigned child) {
    run_child<D, S>(parent, child, work, *learner, nullptr, data, data);
  });
  const std::vector<unsigned> order = positions(data.size());
  Task task;
  task.learns = true;
  const S loss = run_part<S>(order.data(), order.data() + order.size(), children, work, task);
  send_home(children);
  work.take_gradients();
  return loss;
}

}  // namespace detail

/// Trains in `num_children` processes, which change the same parameters: call initialize(argc,
/// argv, true) first. Each process calls trainer->update() after every datum, and has moments of
/// its own. This process calls SaveModel whenever the loss of the development data is the lowest so
/// far. Throws UsageError unless parameters are shared, std::runtime_error if a process fails.
template <class D, class S>
void run_multi_process(unsigned num_children, ILearner<D, S>* learner, Trainer* trainer,
                       const std::vector<D>& train_data, const std::vector<D>& dev_data,
                       unsigned num_iterations, unsigned dev_frequency, unsigned report_frequency) {
  detail::SharedWork work(std::max(train_data.size(), dev_data.size()), trainer->model->storages());
  detail::Children children(num_children, [&](const detail::Channel& parent, unsigned child) {
    detail::run_child<D, S>(parent, child, work, *learner, trainer, train_data, dev_data);
  });
  const auto run = [&](const unsigned* begin, const unsigned* end, bool is_dev, bool end_of_epoch) {
    return detail::run_part<S>(begin, end, children, work,
                               {is_dev, end_of_epoch, !is_dev, false, report_frequency});
  };
  detail::train<S>(train_data.size(), dev_data.size(), num_iterations, dev_frequency, run,
                   [&] { learner->SaveModel(); });
  detail::send_home(children);
}

/// The same in this process, with an update after every `batch_size` data.
template <class D, class S>
void run_single_process(ILearner<D, S>* learner, Trainer* trainer, const std::vector<D>& train_data,
                        const std::vector<D>& dev_data, unsigned num_iterations,
                        unsigned dev_frequency, unsigned report_frequency,
                        unsigned batch_size = 1) {
  const auto run = [&](const unsigned* begin, const unsigned* end, bool is_dev, bool end_of_epoch) {
    S total = S(), recent = S();
    for (const unsigned* i = begin; i != end; ++i) {
      const S loss = learner->LearnFromDatum((is_dev ? dev_data : train_data)[*i], !is_dev);
      total += loss;
      recent += loss;
      const auto count = static_cast<unsigned>(i - begin) + 1;
      if (!is_dev && (count % std::max(batch_size, 1u) == 0 || i + 1 == end)) trainer->update();
      if (report_frequency == 0 || count % report_frequency != 0) continue;
      std::cerr << (is_dev ? "dev" : "train") << " loss: " << recent << '\n';
      recent = S();
    }
    if (end_of_epoch) trainer->update_epoch();
    return total;
  };
  detail::train<S>(train_data.size(), dev_data.size(), num_iterations, dev_frequency, run,
                   [&] { learner->SaveModel(); });
}

/// The sum of the losses of all data, computed in several processes. Afterwards this process has
/// the gradients of all: call trainer->update(). Throws UsageError unless there are shared
/// parameters.
template <class D, class S>
S run_mp_minibatch(unsigned num_children, ILearner<D, S>* learner, const std::vector<D>& data) {
  return detail::run_minibatch(num_children, learner, detail::shared_parameters(), data);
}
/// One update with the gradients of all data, computed in several processes or in this one.
template <class D, class S>
S run_mp_minibatch_trainer(unsigned num_children, ILearner<D, S>* learner, Trainer* trainer,
                           const std::vector<D>& data) {
  const S loss = detail::run_minibatch(num_children, learner, trainer->model->storages(), data);
  trainer->update();
  return loss;
}
template <class D, class S>
S run_sp_minibatch_trainer(ILearner<D, S>* learner, Trainer* trainer, const std::vector<D>& data) {
  S loss = S();
  for (const D& datum : data) loss += learner->LearnFromDatum(datum, true);
  trainer->update();
  return loss;
}

}  // namespace dynet::mp
