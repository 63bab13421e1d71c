// A library to preload: sends its program a signal at one of the calls that change files.
//
// Only these calls change the disk. So a program that was stopped before each of them in turn was
// stopped in every state that it can leave behind. STOP_AT is the number of the call, from 1, and
// STOP_WITH the number of the signal. Without them, the library only saves time.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<int> calls = 0;

int number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

void count_call() {
  if (++calls == number("STOP_AT")) raise(number("STOP_WITH"));
}

template <class Function>
Function next(const char* name, Function) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  if ((flags & O_CREAT) != 0) count_call();
  return next("open", &open)(path, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  count_call();
  return next("write", &write)(descriptor, bytes, count);
}

// Waiting for the disk matters if the machine stops, not if a program does.
int fsync(int) {
  count_call();
  return 0;
}

int rename(const char* from, const char* to) noexcept {
  count_call();
  return next("rename", &rename)(from, to);
}

int unlink(const char* path) noexcept {
  count_call();
  return next("unlink", &unlink)(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  count_call();
  return next("mkdir", &mkdir)(path, mode);
}

}  // extern "C"
