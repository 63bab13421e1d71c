// The main function of every test program: a folder for temporary files, and paths.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#ifdef DYNET_LIKE_CUDA_HOST
#include "dynet_like/device/cuda/host/faults.h"
#endif

// A failed allocation is an error to handle, with sanitizers, too.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace {

constexpr std::string_view kDevice = "--device=";

#ifdef DYNET_LIKE_CUDA_HOST
// Fails a test that leaves an error on the device which nobody has noticed.
class FaultListener final : public testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo&) override {
    const std::string fault = dynet_like::detail::cuda::host::take_fault();
    if (!fault.empty()) ADD_FAILURE() << fault;
  }
};
#endif

// Sets an environment variable unless it is set already.
void set_default(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 0); }

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kDevice)) {
      std::fprintf(stderr, "need arguments of GoogleTest or --device=NAME; got %s\n", argv[i]);
      return 2;
    }
    ::setenv("DYNET_LIKE_DEVICE", std::string(argument.substr(kDevice.size())).c_str(), 1);
  }
  set_default("DYNET_LIKE_SOURCE_DIR", DYNET_LIKE_SOURCE_DIR);
  if (std::filesystem::exists(DYNET_LIKE_DATA)) set_default("DYNET_LIKE_DATA", DYNET_LIKE_DATA);

  // Cases run at the same time in processes of their own, so each needs files of its own.
  std::string folder = (std::filesystem::temp_directory_path() / "dynet_like_test_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    std::perror("need a folder for temporary files");
    return 2;
  }
  ::setenv("TMPDIR", folder.c_str(), 1);
#ifdef DYNET_LIKE_CUDA_HOST
  ::testing::UnitTest::GetInstance()->listeners().Append(new FaultListener());
#endif
  const int result = RUN_ALL_TESTS();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return result;
}
