// Processes of one machine that share parameters.
#include "dynet/mp.h"

#include <semaphore.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "dynet_like/compat/spare_memory.h"
#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet::mp {

bool stop_requested = false;

real sum_values(const std::vector<real>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0f);
}
real mean(const std::vector<real>& values) {
  return sum_values(values) / static_cast<real>(values.size());
}

std::string elapsed_time_string(const timespec& start, const timespec& end) {
  const double seconds = static_cast<double>(end.tv_sec - start.tv_sec) +
                         1e-9 * static_cast<double>(end.tv_nsec - start.tv_nsec);
  char text[64];
  std::snprintf(text, sizeof text, "%.3f s", seconds);
  return text;
}

namespace detail {

namespace {

[[noreturn]] void throw_child_ended() {
  throw std::runtime_error("[mp] need processes that answer; got one that has ended");
}

[[noreturn]] void throw_system(const char* what) {
  throw std::runtime_error(std::string("[mp] need ") + what + "; got " + std::strerror(errno));
}

}  // namespace

Channel::~Channel() { close(socket_); }

void Channel::write_bytes(const void* data, std::size_t size) const {
  for (const char* from = static_cast<const char*>(data); size > 0;) {
    const ssize_t sent = send(socket_, from, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) throw_child_ended();
    from += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void Channel::read_bytes(void* data, std::size_t size) const {
  for (char* to = static_cast<char*>(data); size > 0;) {
    const ssize_t got = recv(socket_, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw_child_ended();
    to += got;
    size -= static_cast<std::size_t>(got);
  }
}

namespace {

// Ends by _exit, so that the child destroys none of the parent's objects.
[[noreturn]] void run_in_child(const Children::Work& work, const Channel& parent, unsigned child) {
  int status = 0;
  try {
    work(parent, child);
  } catch (const std::exception& error) {
    std::cerr << "[mp] process " << child << ": " << error.what() << std::endl;
    status = 1;
  } catch (...) {
    status = 1;
  }
  std::cout.flush();
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace

Children::Children(unsigned count, const Work& work) {
  if (count == 0) throw dynet_like::UsageError("[mp] need at least 1 process; got 0");
  // Threads do not exist in a child: end those of spare memory, and refuse graphs that have some.
  dynet::detail::forget_spare_memory();
  const unsigned threads = dynet::detail::graph_options().threads;
  if (threads > 1 && get_number_of_active_graphs() > 0) {
    throw dynet_like::UsageError(
        "[mp] need graphs that are made in LearnFromDatum, or --dynet-threads 1; got " +
        dynet_like::detail::counted(get_number_of_active_graphs(), "graph") + " and " +
        dynet_like::detail::counted(threads, "thread"));
  }
  std::cout.flush();
  std::fflush(nullptr);
  for (unsigned child = 0; child < count; ++child) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw_system("a connection");
    auto here = std::make_unique<Channel>(ends[0]);
    const Channel there(ends[1]);
    const pid_t process = fork();
    if (process < 0) throw_system("a process");
    if (process == 0) {
      here.reset();
      channels_.clear();  // otherwise a child would keep the others' connections open
      run_in_child(work, there, child);
    }
    channels_.push_back(std::move(here));
    processes_.push_back(process);
  }
}

Children::~Children() {
  for (const int process : processes_) kill(process, SIGKILL);
  for (const int process : processes_) waitpid(process, nullptr, 0);
}

void Children::wait() {
  bool good = true;
  for (const int process : processes_) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    good = good && status == 0;
  }
  processes_.clear();
  if (!good) throw_child_ended();
}

namespace {

[[noreturn]] void throw_not_shared(const std::string& got) {
  throw dynet_like::UsageError("[mp] need parameters that processes share; got " + got +
                               ": call initialize(argc, argv, true) before the model is made");
}

}  // namespace

SharedWork::Parameters shared_parameters() {
  SharedWork::Parameters all;
  for (const auto& known : dynet::detail::shared_parameters()) {
    if (auto parameter = known.lock()) all.push_back(std::move(parameter));
  }
  if (all.empty()) throw_not_shared("none");
  return all;
}

struct SharedWork::Shared {
  std::atomic<std::size_t> next = 0;
  std::size_t end = 0;
  sem_t lock;

  unsigned* order() { return reinterpret_cast<unsigned*>(this + 1); }
};

namespace {

class Locked {
 public:
  explicit Locked(sem_t& lock) : lock_(lock) {
    while (sem_wait(&lock_) != 0 && errno == EINTR) continue;
  }
  ~Locked() { sem_post(&lock_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  sem_t& lock_;
};

}  // namespace

SharedWork::SharedWork(std::size_t data, Parameters parameters)
    : parameters_(std::move(parameters)),
      block_(dynet_like::detail::Block::shared(sizeof(Shared) + data * sizeof(unsigned))) {
  for (const auto& parameter : parameters_) {
    if (!parameter->values.is_shared())
      throw_not_shared('"' + parameter->name + "\", which is not");
    gradients_.push_back(dynet_like::detail::Block::shared(parameter->values.size()));
  }
  new (block_.data()) Shared;
  if (sem_init(&shared().lock, 1, 1) != 0) throw_system("a semaphore");
}
SharedWork::~SharedWork() { sem_destroy(&shared().lock); }

SharedWork::Shared& SharedWork::shared() const {
  return *std::launder(reinterpret_cast<Shared*>(block_.data()));
}

void SharedWork::begin_child() {
  dynet::detail::gradients().clear();
  // Values change while a graph runs, so graphs must not check that they stay the same.
  for (const auto& parameter : parameters_) parameter->values.stop_watching();
}

void SharedWork::set(const unsigned* begin, const unsigned* end) {
  std::copy(begin, end, shared().order());
  shared().end = static_cast<std::size_t>(end - begin);
  shared().next = 0;
}

std::optional<unsigned> SharedWork::next() {
  const std::size_t position = shared().next++;
  if (position >= shared().end) return std::nullopt;
  return shared().order()[position];
}

void SharedWork::update(Trainer& trainer) {
  const Locked locked(shared().lock);
  trainer.update();
  for (const auto& parameter : parameters_) parameter->refresh_rows();
}

void SharedWork::give_gradients() {
  const Locked locked(shared().lock);
  dynet_like::Gradients& mine = dynet::detail::gradients();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const dynet_like::ParameterStorage& parameter = *parameters_[i];
    auto* const all = reinterpret_cast<float*>(gradients_[i].data());
    const auto add = [](float* sum, const void* from, std::size_t count) {
      const auto* const x = static_cast<const float*>(from);
      for (std::size_t k = 0; x != nullptr && k < count; ++k) sum[k] += x[k];
    };
    if (!parameter.is_table) {
      add(all, mine.find_dense(parameter), parameter.size());
    } else if (const auto* rows = mine.find_rows(parameter); rows != nullptr) {
      for (const unsigned row : rows->rows) {
        const std::size_t size = parameter.entry_size();
        add(all + row * size, rows->find(parameter, row), size);
      }
    }
  }
  mine.clear();
}

void SharedWork::take_gradients() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& parameter = parameters_[i];
    auto* const all = reinterpret_cast<float*>(gradients_[i].data());
    const std::size_t size = parameter->entry_size();
    if (!parameter->is_table) {
      ParameterStorage(parameter).accumulate_grad(Tensor(parameter->dim, all));
      continue;
    }
    LookupParameterStorage table(parameter);
    for (unsigned row = 0; row < parameter->rows(); ++row) {
      float* const gradient = all + row * size;
      const bool any = std::any_of(gradient, gradient + size, [](float x) { return x != 0; });
      if (any) table.accumulate_grads(1, &row, nullptr, gradient);
    }
  }
  dynet::detail::refresh_handed_out();
}

void SharedWork::count_change() const {
  for (const auto& parameter : parameters_) parameter->values.count_change();
}

}  // namespace detail
}  // namespace dynet::mp
