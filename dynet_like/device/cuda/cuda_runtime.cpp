// The functions of a GPU: CUDA's runtime and cuBLAS.
#include <cuda_runtime.h>

#include <algorithm>
#include <climits>
#include <map>
#include <string>
#include <string_view>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/device/cuda/cublas.h"
#include "dynet_like/device/cuda/language.h"
#include "dynet_like/device/cuda/runtime.h"

namespace dynet_like::detail::cuda {

namespace {

// The size that CUDA's documentation recommends for Hopper. It is fixed, so that a product has the
// same bits in every run.
constexpr std::size_t kProductWorkspace = std::size_t{32} << 20;
constexpr int kLeastCapability = 80, kEarlyCapability = 90;

// Takes the result of a call: an error that is reported or ignored here is no longer the thread's
// last one, which the program may ask for after calls of its own.
cudaError_t take(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

void check(cudaError_t error, const char* call) {
  if (take(error) == cudaSuccess) return;
  throw DeviceError("[cuda] need " + std::string(call) +
                    " to succeed; got: " + cudaGetErrorString(error));
}

// Errors may be reported later than their cause, so the message says how to find it.
void check_work(cudaError_t error, const char* call) {
  if (take(error) == cudaSuccess) return;
  const char* const hint =
      error == cudaErrorInvalidValue ? "" : " (with CUDA_LAUNCH_BLOCKING=1 the kernel is named)";
  throw DeviceError("[cuda] need " + std::string(call) +
                    " to succeed; got: " + cudaGetErrorString(error) + hint);
}

std::string name_of(int device) {
  const std::string_view family = kFamily;
  const bool is_alone = family == "cuda-host" && device == 0;
  return std::string(family) + (is_alone ? "" : ":" + std::to_string(device));
}

// Sets the calling thread's device for a while. Errors are ignored: later calls report them again.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    take(cudaGetDevice(&before_));
    if (before_ != device) take(cudaSetDevice(device));
    is_other_ = before_ != device;
  }
  ~CurrentDevice() {
    if (is_other_) take(cudaSetDevice(before_));
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
  bool is_other_ = false;
};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int to_int(std::size_t number) {
  if (number <= INT_MAX) return static_cast<int>(number);
  throw DeviceError("[multiply] need sizes of at most 2^31 - 1; got " + std::to_string(number));
}

// How many blocks can wait for each other.
struct Meetings {
  int multiprocessors = 0;                         ///< 0: none
  std::map<const void*, unsigned> blocks_at_once;  ///< by kernel
};

}  // namespace

struct Runtime::Implementation {
  enum class Early : std::uint8_t { unknown, no, yes };

  int device = 0, device_before = 0, capability = 0;
  Meetings meetings;
  Early early = Early::unknown;
  unsigned depth = 0;
  bool is_busy = false;  ///< work has begun that nobody has waited for
  cudaStream_t stream = nullptr;
  std::vector<cudaEvent_t> marks;
  std::vector<MarkKind> kinds;      ///< of these marks
  std::vector<Mark> free_marks[2];  ///< by MarkKind, with room for all
  Cublas cublas{};
  cublasHandle_t products = nullptr;
  void* workspace = nullptr;
  std::map<void*, std::size_t> sizes;

  explicit Implementation(unsigned index) : device(static_cast<int>(index)) {
    const CurrentDevice current(device);
    check(cudaSetDevice(device), "cudaSetDevice");
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    capability = 10 * properties.major + properties.minor;
    if (properties.cooperativeLaunch != 0)
      meetings.multiprocessors = properties.multiProcessorCount;
    if (capability < kLeastCapability) {
      throw DeviceError("[cuda] need a GPU of compute capability 8.0 or later; got " +
                        std::string(properties.name) + " of " + std::to_string(properties.major) +
                        "." + std::to_string(properties.minor));
    }
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  // Whether a kernel may begin before the previous one has ended. The GPU must support it, and the
  // kernel must have been compiled for such a GPU: code for older ones does not wait.
  bool begins_early(const void* kernel) {
    if (early == Early::unknown) {
      cudaFuncAttributes attributes{};
      check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
      const bool knows =
          capability >= kEarlyCapability && attributes.ptxVersion >= kEarlyCapability;
      early = knows ? Early::yes : Early::no;
    }
    return early == Early::yes;
  }

  // Errors are ignored here: the process may be ending, and the driver with it. cuBLAS may have
  // ended before, so its handle is left.
  ~Implementation() {
    const CurrentDevice current(device);
    if (stream != nullptr) take(cudaStreamSynchronize(stream));
    if (workspace != nullptr) take(cudaFree(workspace));
    for (const cudaEvent_t event : marks) take(cudaEventDestroy(event));
    if (stream != nullptr) take(cudaStreamDestroy(stream));
  }
};

std::vector<std::string> Runtime::names() {
  int count = 0;
  if (take(cudaGetDeviceCount(&count)) != cudaSuccess) count = 0;
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(name_of(i));
  return names;
}

std::string Runtime::why_none() {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t error = take(cudaGetDeviceCount(&count));
  if (error == cudaSuccess && count > 0) return "";
  take(cudaDriverGetVersion(&driver));
  take(cudaRuntimeGetVersion(&runtime));
  if (driver == 0) return "there is no CUDA driver (libcuda.so.1)";
  if (error == cudaErrorInsufficientDriver) {
    return "the driver is for CUDA " + version_text(driver) +
           ", this library was built with CUDA " + version_text(runtime);
  }
  if (error == cudaErrorNoDevice || error == cudaSuccess) {
    return "the driver, for CUDA " + version_text(driver) + ", finds no GPU";
  }
  return std::string("the driver says: ") + cudaGetErrorString(error);
}

Runtime::Runtime(unsigned device) : implementation_(std::make_unique<Implementation>(device)) {}
Runtime::~Runtime() = default;

Loans& Runtime::loans() { return loans_of(implementation_->stream); }

void Runtime::begin_use() {
  Implementation& own = *implementation_;
  if (own.depth == 0) {
    check(cudaGetDevice(&own.device_before), "cudaGetDevice");
    if (own.device_before != own.device) check(cudaSetDevice(own.device), "cudaSetDevice");
  }
  ++own.depth;
}
void Runtime::end_use() noexcept {
  const Implementation& own = *implementation_;
  if (--implementation_->depth == 0 && own.device_before != own.device) {
    take(cudaSetDevice(own.device_before));
  }
}

void* Runtime::allocate(std::size_t size) {
  const RuntimeUse use(*this);
  void* memory = nullptr;
  const cudaError_t error = take(cudaMalloc(&memory, std::max<std::size_t>(size, 1)));
  if (error == cudaErrorMemoryAllocation) {
    std::size_t free = 0, total = 0;
    take(cudaMemGetInfo(&free, &total));
    throw DeviceError("[" + name_of(implementation_->device) + "] need " + counted(size, "byte") +
                      " of device memory; got a device with " + std::to_string(free) + " of " +
                      counted(total, "byte") + " free, " + std::to_string(counts_.bytes_in_use) +
                      " in use here");
  }
  check(error, "cudaMalloc");
  try {
    implementation_->sizes.emplace(memory, size);
  } catch (...) {
    take(cudaFree(memory));
    throw;
  }
  ++counts_.allocations;
  counts_.bytes_in_use += size;
  counts_.peak_bytes = std::max(counts_.peak_bytes, counts_.bytes_in_use);
  return memory;
}

void Runtime::free(void* memory) noexcept {
  const auto found = implementation_->sizes.find(memory);
  if (found == implementation_->sizes.end()) return;
  counts_.bytes_in_use -= found->second;
  implementation_->sizes.erase(found);
  const CurrentDevice current(implementation_->device);
  take(cudaFree(memory));
}

void* Runtime::allocate_pinned(std::size_t size) {
  const RuntimeUse use(*this);
  void* memory = nullptr;
  if (take(cudaMallocHost(&memory, std::max<std::size_t>(size, 1))) == cudaSuccess) return memory;
  throw DeviceError("[cuda] need " + counted(size, "byte") + " of pinned memory; got none");
}
void Runtime::free_pinned(void* memory) noexcept {
  if (memory == nullptr) return;
  const CurrentDevice current(implementation_->device);
  if (implementation_->is_busy) take(cudaStreamSynchronize(implementation_->stream));
  take(cudaFreeHost(memory));
}

void Runtime::copy_to_device(void* to, const void* from, std::size_t size) {
  const RuntimeUse use(*this);
  check(cudaMemcpyAsync(to, from, size, cudaMemcpyHostToDevice, implementation_->stream),
        "cudaMemcpyAsync to the device");
  ++counts_.copies_to_device;
  counts_.bytes_to_device += size;
  implementation_->is_busy = true;
}
void Runtime::copy_to_host(void* to, const void* from, std::size_t size) {
  const RuntimeUse use(*this);
  check(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToHost, implementation_->stream),
        "cudaMemcpyAsync to the host");
  ++counts_.copies_to_host;
  counts_.bytes_to_host += size;
  implementation_->is_busy = true;
}
void Runtime::copy(void* to, const void* from, std::size_t size) {
  const RuntimeUse use(*this);
  check(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, implementation_->stream),
        "cudaMemcpyAsync");
  implementation_->is_busy = true;
}
void Runtime::zero(void* to, std::size_t size) {
  const RuntimeUse use(*this);
  check(cudaMemsetAsync(to, 0, size, implementation_->stream), "cudaMemsetAsync");
  implementation_->is_busy = true;
}

void Runtime::launch(const Shape& shape, const KernelCall& call) {
  const RuntimeUse use(*this);
  cudaLaunchAttribute attribute{};
  const bool is_early = !shape.meets && shape.waits && implementation_->begins_early(call.kernel);
  if (shape.meets) {
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  } else {
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  const cudaLaunchConfig_t config{{shape.blocks_x, shape.blocks_y, shape.blocks_z},
                                  {shape.threads_x, shape.threads_y},
                                  0,
                                  implementation_->stream,
                                  &attribute,
                                  is_early || shape.meets ? 1u : 0u};
  const cudaError_t error = take(cudaLaunchKernelExC(&config, call.kernel, call.arguments));
  if (error != cudaSuccess) {
    const std::string text = cudaGetErrorString(error);
    const char* name = nullptr;
    if (take(cudaFuncGetName(&name, call.kernel)) != cudaSuccess || name == nullptr) {
      name = "a kernel";
    }
    throw DeviceError("[cuda] need a launch of " + std::string(name) + " to succeed; got: " + text);
  }
  ++counts_.launches;
  implementation_->is_busy = true;
}

unsigned Runtime::most_blocks_at_once(const void* kernel, unsigned threads) {
  Meetings& meetings = implementation_->meetings;
  if (meetings.multiprocessors == 0) return 0;
  const auto found = meetings.blocks_at_once.find(kernel);
  if (found != meetings.blocks_at_once.end()) return found->second;
  const RuntimeUse use(*this);
  int blocks = 0;
  check(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), 0),
      "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return meetings.blocks_at_once[kernel] = static_cast<unsigned>(blocks * meetings.multiprocessors);
}

void Runtime::open_products(ProductMath math) {
  Implementation& own = *implementation_;
  if (own.products != nullptr) return;
  const RuntimeUse use(*this);
  own.cublas = Cublas::load();
  const Cublas& cublas = own.cublas;
  try {
    own.workspace = allocate(kProductWorkspace);
    cublas.check(cublas.create(&own.products), "cublasCreate");
    cublas.check(cublas.set_stream(own.products, own.stream), "cublasSetStream");
    cublas.check(cublas.set_workspace(own.products, own.workspace, kProductWorkspace),
                 "cublasSetWorkspace");
    // No TF32, whatever the environment allows.
    const bool prescribed = math == ProductMath::prescribed;
    cublas.check(
        cublas.set_math_mode(own.products, prescribed ? CUBLAS_PEDANTIC_MATH : CUBLAS_DEFAULT_MATH),
        "cublasSetMathMode");
  } catch (...) {
    if (own.products != nullptr) cublas.destroy(own.products);
    if (own.workspace != nullptr) free(own.workspace);
    own.products = nullptr;
    own.workspace = nullptr;
    throw;
  }
}

void Runtime::multiply(const LibraryProduct& p) {
  const RuntimeUse use(*this);
  const Cublas& cublas = implementation_->cublas;
  const cublasHandle_t handle = implementation_->products;
  if (handle == nullptr) throw DeviceError("[multiply] need open_products() before; got none");
  const cublasOperation_t a_op = p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t b_op = p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const auto multiply = [&]<class T>(auto gemm, T one, T beta, const char* call) {
    cublas.check(gemm(handle, a_op, b_op, to_int(p.rows), to_int(p.columns), to_int(p.inner), &one,
                      static_cast<const T*>(p.a), to_int(p.a_stride), static_cast<const T*>(p.b),
                      to_int(p.b_stride), &beta, static_cast<T*>(p.c), to_int(p.c_stride)),
                 call);
  };
  if (p.dtype == DType::f32) {
    multiply(cublas.sgemm, 1.0f, static_cast<float>(p.beta), "cublasSgemm");
  } else {
    multiply(cublas.dgemm, 1.0, p.beta, "cublasDgemm");
  }
  ++counts_.launches;
  implementation_->is_busy = true;
}

void Runtime::wait() {
  if (!implementation_->is_busy) return;
  const RuntimeUse use(*this);
  ++counts_.synchronisations;
  implementation_->is_busy = false;
  check_work(cudaStreamSynchronize(implementation_->stream), "cudaStreamSynchronize");
}

Mark Runtime::make_mark(MarkKind kind) {
  std::vector<cudaEvent_t>& marks = implementation_->marks;
  std::vector<MarkKind>& kinds = implementation_->kinds;
  std::vector<Mark>& free = implementation_->free_marks[static_cast<int>(kind)];
  if (!free.empty()) {
    const Mark mark = free.back();
    free.pop_back();
    return mark;
  }
  const RuntimeUse use(*this);
  make_room(marks);
  make_room(kinds);
  free.reserve(marks.capacity());
  cudaEvent_t event = nullptr;
  const unsigned flags = kind == MarkKind::timed ? cudaEventDefault : cudaEventDisableTiming;
  check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
  marks.push_back(event);
  kinds.push_back(kind);
  return static_cast<Mark>(marks.size() - 1);
}
void Runtime::free_mark(Mark mark) noexcept {
  implementation_->free_marks[static_cast<int>(implementation_->kinds[mark])].push_back(mark);
}

void Runtime::mark(Mark mark) {
  const RuntimeUse use(*this);
  check(cudaEventRecord(implementation_->marks[mark], implementation_->stream), "cudaEventRecord");
}

bool Runtime::has_passed(Mark mark) {
  const RuntimeUse use(*this);
  const cudaError_t state = take(cudaEventQuery(implementation_->marks[mark]));
  if (state != cudaErrorNotReady) check_work(state, "cudaEventQuery");
  return state == cudaSuccess;
}

void Runtime::wait_for(Mark mark) {
  if (has_passed(mark)) return;
  const RuntimeUse use(*this);
  ++counts_.synchronisations;
  check_work(cudaEventSynchronize(implementation_->marks[mark]), "cudaEventSynchronize");
}

double Runtime::seconds_between(Mark first, Mark last) {
  const RuntimeUse use(*this);
  const std::vector<cudaEvent_t>& marks = implementation_->marks;
  float milliseconds = 0;
  check_work(cudaEventElapsedTime(&milliseconds, marks[first], marks[last]),
             "cudaEventElapsedTime");
  return double{milliseconds} / 1e3;
}

}  // namespace dynet_like::detail::cuda
