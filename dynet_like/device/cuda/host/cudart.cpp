// CUDA's runtime on the CPU: wrong arguments are errors, and work is queued.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/host/driver.h"

using namespace dynet_like;
using namespace dynet_like::detail::cuda;
using host::Driver, host::Work;

namespace {

constexpr int kVersion = 13000;
constexpr int kMultiprocessors = 132, kThreadsAtOnce = 384;  // of an H100, for 168 registers each

// Objects of the driver are not allocated by operator new, which tests make fail.
template <class T>
T* make_object(int device) {
  void* const memory = std::malloc(sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  T* const object = ::new (memory) T();
  object->device = device;
  return object;
}
template <class T>
void destroy_object(T* object) {
  object->~T();
  std::free(object);
}

struct Bytes {
  void* to;
  const void* from;
  std::size_t size;
  int byte;
};

bool runs_at_once() {
  const char* const value = std::getenv("CUDA_LAUNCH_BLOCKING");
  return value != nullptr && *value == '1';
}

// Blocks that wait for each other must all run at once.
void need_room(const Shape& shape) {
  const int threads = static_cast<int>(shape.threads_x * shape.threads_y);
  const std::uint64_t room = kThreadsAtOnce / threads * kMultiprocessors;
  const std::uint64_t blocks = std::uint64_t{shape.blocks_x} * shape.blocks_y * shape.blocks_z;
  if (Driver::get().blocks_meet && blocks <= room) return;
  throw DeviceError("[cudaLaunchKernelExC] need at most " + detail::counted(room, "block") +
                    " of this size that wait for each other; got " + std::to_string(blocks));
}

void need_ended(const char* what, bool ended) {
  if (ended) return;
  throw DeviceError("[" + std::string(what) + "] need a wait for the work that uses it; got none");
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  *count = Driver::get().device_count;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return *version = kVersion, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = kVersion, cudaSuccess; }

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNotReady:
      return "device not ready";
    default:
      return Driver::get().text();
  }
}
cudaError_t cudaGetLastError() { return std::exchange(host::last_error(), cudaSuccess); }

cudaError_t cudaGetDevice(int* device) { return *device = host::current_device(), cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  return Driver::get().call([&] {
    if (device < 0 || device >= Driver::get().device_count) {
      throw DeviceError("[cudaSetDevice] need an existing device; got " + std::to_string(device));
    }
    host::current_device() = device;
  });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  return Driver::get().call([&] {
    std::strcpy(properties->name, "the CPU in place of a GPU");
    properties->major = 9;
    properties->minor = 0;
    properties->multiProcessorCount = kMultiprocessors;
    properties->cooperativeLaunch = Driver::get().blocks_meet ? 1 : 0;
  });
}

cudaError_t cudaMalloc(void** memory, std::size_t size) {
  Driver& driver = Driver::get();
  const Driver::Call call;
  if (call.error != cudaSuccess) return host::note(call.error);
  try {
    *memory = driver.allocate(size);
  } catch (const std::exception&) {
    return host::note(cudaErrorMemoryAllocation);
  }
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  Driver& driver = Driver::get();
  return driver.call([&] { driver.free(memory); }, Driver::Call::gives_back);
}
cudaError_t cudaMallocHost(void** memory, std::size_t size) {
  Driver& driver = Driver::get();
  return driver.call([&] {
    *memory = std::malloc(std::max<std::size_t>(size, 1));
    if (*memory == nullptr) throw std::bad_alloc();
    driver.objects.pinned.emplace(*memory, size);
  });
}
cudaError_t cudaFreeHost(void* memory) {
  Driver& driver = Driver::get();
  return driver.call(
      [&] {
        const auto found = driver.objects.pinned.find(memory);
        if (found == driver.objects.pinned.end()) {
          throw DeviceError("[cudaFreeHost] need pinned memory; got another address");
        }
        need_ended("cudaFreeHost", !driver.is_in_use(memory, found->second));
        driver.objects.pinned.erase(found);
        std::free(memory);
      },
      Driver::Call::gives_back);
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return Driver::get().call([&] {
    *total = Driver::get().memory().size();
    *free = *total - Driver::get().memory().bytes_in_use();
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return Driver::get().call([&] {
    *stream = make_object<CUstream_st>(host::current_device());
    Driver::get().objects.streams.insert(*stream);
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Driver& driver = Driver::get();
  return driver.call(
      [&] {
        driver.objects.need_stream("cudaStreamDestroy", stream);
        need_ended("cudaStreamDestroy", stream->queue.empty());
        for (const cudaEvent_t event : driver.objects.events) {
          if (event->stream == stream) event->stream = nullptr;
        }
        driver.objects.streams.erase(stream);
        destroy_object(stream);
      },
      Driver::Call::gives_back);
}

// Reports the faults of work that ran late.
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Driver& driver = Driver::get();
  return driver.call([&] {
    driver.objects.need_stream("cudaStreamSynchronize", stream);
    driver.wait_until(stream, stream->queued());
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return Driver::get().call([&] {
    *event = make_object<CUevent_st>(host::current_device());
    (*event)->is_timed = flags != cudaEventDisableTiming;
    Driver::get().objects.events.insert(*event);
  });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Driver& driver = Driver::get();
  return driver.call(
      [&] {
        driver.objects.need_event("cudaEventDestroy", event);
        driver.objects.events.erase(event);
        destroy_object(event);
      },
      Driver::Call::gives_back);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Driver& driver = Driver::get();
  return driver.call([&] {
    driver.objects.need_stream("cudaEventRecord", stream);
    driver.objects.need_event("cudaEventRecord", event);
    driver.need_current("cudaEventRecord", stream->device);
    driver.need_current("cudaEventRecord", event->device);
    event->stream = stream;
    event->at = stream->queued();
    event->passed = {};
    driver.note_times(stream);
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  Driver& driver = Driver::get();
  bool passed = false;
  const cudaError_t error = driver.call([&] {
    driver.objects.need_event("cudaEventQuery", event);
    passed = event->stream == nullptr || event->stream->done >= event->at;
  });
  return error == cudaSuccess && !passed ? host::note(cudaErrorNotReady) : error;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Driver& driver = Driver::get();
  return driver.call([&] {
    driver.objects.need_event("cudaEventSynchronize", event);
    if (event->stream == nullptr) return;
    driver.wait_until(event->stream, event->at);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t last) {
  Driver& driver = Driver::get();
  return driver.call([&] {
    const char* const what = "cudaEventElapsedTime";
    for (const cudaEvent_t event : {first, last}) {
      driver.objects.need_event(what, event);
      if (!event->is_timed || event->stream == nullptr || event->stream->done < event->at) {
        throw DeviceError("[" + std::string(what) +
                          "] need timed events that have passed; got another");
      }
    }
    *milliseconds = std::chrono::duration<float, std::milli>(last->passed - first->passed).count();
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  Driver& driver = Driver::get();
  return driver.call([&] {
    const char* const what = "cudaMemcpyAsync";
    driver.objects.need_stream(what, stream);
    Work work = host::make_work(
        [](Work& copy) {
          const Bytes& bytes = copy.as<Bytes>();
          std::memmove(bytes.to, bytes.from, bytes.size);
        },
        Bytes{to, from, size, 0});
    work.size = size;
    if (kind == cudaMemcpyHostToDevice) {
      driver.need_host(what, from);
      work.here = from;
    } else {
      driver.need_device(what, from, size);
    }
    if (kind == cudaMemcpyDeviceToHost) {
      driver.need_host(what, to);
      std::memset(to, 0xff, size);  // no numbers until the copy has run
      work.here = to;
      work.writes_here = true;
    } else {
      driver.need_device(what, to, size);
    }
    driver.queue(stream, std::move(work));
  });
}
cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t size, cudaStream_t stream) {
  Driver& driver = Driver::get();
  return driver.call([&] {
    driver.objects.need_stream("cudaMemsetAsync", stream);
    driver.need_current("cudaMemsetAsync", stream->device);
    driver.need_device("cudaMemsetAsync", to, size);
    driver.queue(stream, host::make_work(
                             [](Work& fill) {
                               const Bytes& bytes = fill.as<Bytes>();
                               std::memset(bytes.to, bytes.byte, bytes.size);
                             },
                             Bytes{to, nullptr, size, byte}));
  });
}

namespace {

struct Launch {
  Shape shape;
  void (*run)(const void*);
  bool cooperates;
  const void* code;
  const char* name;
  Loans* loans;
};
// The call's bytes follow this struct, with the largest alignment.
constexpr std::size_t kBehind = (sizeof(Launch) + 15) / 16 * 16;

void run_launch(Work& work) {
  const Launch& launch = work.as<Launch>();
  Driver& driver = Driver::get();
  launch.loans->bring(work.asked, driver.lent());
  driver.emulator().execute(launch.shape,
                            launch.cooperates ? Threads::cooperating : Threads::independent,
                            {launch.run, work.bytes.get() + kBehind, launch.code, launch.name});
}

}  // namespace

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          std::size_t) {
  return Driver::get().call([&] { *blocks = kThreadsAtOnce / threads; });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void**) {
  Driver& driver = Driver::get();
  // Bound by position, because the language of kernels uses two of the names as macros.
  const auto& [blocks, threads, shared_bytes, queue, attributes, attribute_count] = *config;
  const cudaStream_t stream = queue;
  Shape shape{blocks.x, blocks.y, blocks.z, threads.x, threads.y};
  for (unsigned i = 0; i < attribute_count; ++i) {
    if (attributes[i].id == cudaLaunchAttributeCooperative) {
      shape.meets = attributes[i].val.cooperative != 0;
    } else {
      shape.waits = attributes[i].val.programmaticStreamSerializationAllowed != 0;
    }
  }
  const auto& function = *static_cast<const host::Function*>(kernel);
  return driver.call([&] {
    driver.objects.need_stream("cudaLaunchKernelExC", stream);
    driver.need_current("cudaLaunchKernelExC", stream->device);
    for (const void* pointer : function.pointers) {
      if (pointer == nullptr || driver.memory().holds(pointer, 0)) continue;
      throw DeviceError(
          "[launch] need arguments that are null or addresses of the device; got another");
    }
    host::check_shape(shape);
    if (shape.meets) need_room(shape);
    Work work;
    work.run = run_launch;
    work.bytes.reset(static_cast<std::byte*>(std::malloc(kBehind + function.size)));
    if (work.bytes == nullptr) throw std::bad_alloc();
    ::new (static_cast<void*>(work.bytes.get())) Launch{
        shape, function.run, function.cooperates, function.kernel, function.name, &stream->loans};
    std::memcpy(work.bytes.get() + kBehind, function.call, function.size);
    driver.queue(stream, std::move(work));
    if (!runs_at_once()) return;
    driver.wait_until(stream, stream->queued());
  });
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  return Driver::get().call([&] { attributes->ptxVersion = 90; });
}
cudaError_t cudaFuncGetName(const char** name, const void* kernel) {
  *name = static_cast<const host::Function*>(kernel)->name;
  return cudaSuccess;
}
