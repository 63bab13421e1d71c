// Memory of the device, and products by the library and by cuBLAS.
#include "bench/gpu/access.h"

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::gpu {

Access::Access() {
  const std::string name = default_device()->name();
  const std::vector<std::string> names = cuda::device_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw UsageError("need --device cuda or cuda-host; got " + name);
  shared_ = std::make_shared<cuda::Shared>(static_cast<unsigned>(found - names.begin()));
  queue_ = cuda::make_queue(shared_);
  is_emulated_ = name.starts_with("cuda-host");
}

Access::~Access() {
  try {
    commands().submit();
    runtime().wait();
  } catch (const std::exception&) {  // was reported before, and the program ends
  }
  for (void* const memory : memory_) runtime().free(memory);
}

void* Access::make(std::size_t bytes) {
  memory_.push_back(nullptr);
  return memory_.back() = runtime().allocate(bytes);
}

float* Access::put(const std::vector<float>& numbers) {
  const std::size_t bytes = numbers.size() * sizeof(float);
  auto* const there = static_cast<float*>(make(bytes));
  runtime().copy_to_device(there, numbers.data(), bytes);
  runtime().wait();
  return there;
}

std::vector<float> Access::get(const float* there, std::size_t count) {
  std::vector<float> numbers(count);
  commands().submit();
  runtime().copy_to_host(numbers.data(), there, count * sizeof(float));
  runtime().wait();
  return numbers;
}

std::vector<float> draw(std::size_t count, unsigned seed) {
  Random random(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(2 * random.uniform() - 1);
  return numbers;
}

Product::Product(Access& access, std::size_t rows, std::size_t inner, std::size_t columns)
    : w(access.put(draw(rows * inner, 1))),
      x(access.put(draw(inner * columns, 2))),
      dy(access.put(draw(rows * columns, 3))),
      access_(access),
      rows_(rows),
      inner_(inner),
      columns_(columns),
      add_(columns) {
  type_.op = &ops::matrix_product;
  const auto size = [](std::size_t number) { return static_cast<unsigned>(number); };
  type_.inputs = {Dim({size(rows), size(inner)}), Dim({size(inner)})};
  type_.shared = {1, 0};
  type_.output = Dim({size(rows)});
  type_.output_size = rows;
  for (const Kind kind : {forward, gradient, outer}) {
    results_[kind] = static_cast<float*>(access.make(result_size(kind) * sizeof(float)));
  }
  for (std::size_t i = 0; i < columns; ++i) {
    x_places_.push_back(x + i * inner);
    dy_places_.push_back(dy + i * rows);
    dx_places_.push_back(results_[gradient] + i * inner);
  }
}

std::size_t Product::result_size(Kind kind) const {
  if (kind == outer) return rows_ * inner_;
  return (kind == forward ? rows_ : inner_) * columns_;
}

cuda::LibraryProduct Product::library_product(Kind kind) const {
  cuda::LibraryProduct product;
  product.rows = kind == gradient ? inner_ : rows_;
  product.columns = kind == outer ? inner_ : columns_;
  product.inner = kind == forward ? inner_ : kind == gradient ? rows_ : columns_;
  product.a = kind == outer ? dy : w;
  product.a_stride = rows_;
  product.a_transposed = kind == gradient;
  product.b = kind == gradient ? dy : x;
  product.b_stride = kind == gradient ? rows_ : inner_;
  product.b_transposed = kind == outer;
  product.c = results_[kind];
  product.c_stride = product.rows;
  return product;
}

void Product::ask(Kind kind, bool by_cublas) {
  if (by_cublas) return access_.commands().multiply(library_product(kind));
  ask_own(kind);
  access_.commands().reset_scratch();
}

// As the queue does it, but without submitting in between.
void Product::ask_own(Kind kind) {
  cuda::Commands& commands = access_.commands();
  if (kind == outer) {
    const detail::Addends addends{dy_places_.data(), x_places_.data(), columns_};
    return cuda::launch_outer_products(commands, DType::f32,
                                       {results_[outer], rows_, inner_, addends, true});
  }
  const detail::Kernels& kernels = access_.queue().kernels(*type_.op);
  detail::Operand in[2];
  in[0].shared = w;
  if (kind == forward) {
    in[1].items = commands.stage(x_places_.data(), columns_);
    detail::ForwardCall call;
    call.type = &type_;
    call.n = columns_;
    call.in = in;
    call.out = {results_[forward], type_.output_size};
    call.workspace = &commands;
    return kernels.forward[0](call);
  }
  detail::Destination dx[2];
  dx[1] = {commands.stage(dx_places_.data(), columns_), commands.stage(add_.data(), columns_)};
  detail::BackwardCall call;
  call.type = &type_;
  call.n = columns_;
  call.in = in;
  call.dy.items = commands.stage(dy_places_.data(), columns_);
  call.dx = dx;
  call.workspace = &commands;
  kernels.backward[0](call);
}

}  // namespace dynet_like::bench::gpu
