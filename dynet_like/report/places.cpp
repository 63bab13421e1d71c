// Source lines of addresses, from addr2line, which is part of binutils and of LLVM.
#include "dynet_like/report/places.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>

namespace dynet_like::detail {

namespace {

namespace fs = std::filesystem;

// Where a call is in the source: several lines if functions were inlined, the innermost first.
struct CodeLine {
  std::string function, place;  ///< empty if not known
};
using CodeLines = std::map<const void*, std::vector<CodeLine>>;

/// What a command prints, or nothing if it cannot be run.
std::string output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t process = 0;
  const bool runs = posix_spawnp(&process, words[0], &actions, nullptr, words.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t n = 1; runs && n > 0;) {
    n = read(ends[0], part, sizeof(part));
    if (n > 0) text.append(part, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (runs) waitpid(process, nullptr, 0);
  return text;
}

// "file.cpp:12" of "file.cpp:12 (discriminator 3)"; empty for "??:0".
std::string place_of(std::string text) {
  text.resize(std::min(text.size(), text.find(" (")));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.starts_with("??")) return "";
  const std::string line = text.substr(colon + 1);
  if (line == "0" || line == "?") return "";
  return fs::path(text.substr(0, colon)).lexically_normal().string() + ':' + line;
}

// Looks up addresses of one binary file, given by their offset in it.
void find_lines(const std::string& file, const std::map<std::uintptr_t, const void*>& addresses,
                CodeLines& lines) {
  std::vector<std::string> command = {"addr2line", "-a", "-C", "-f", "-i", "-e", file};
  for (const auto& [offset, address] : addresses) {
    std::ostringstream number;
    number << "0x" << std::hex << offset;
    command.push_back(number.str());
  }
  std::istringstream answer(output_of(command));
  auto next = addresses.begin();
  std::vector<CodeLine>* current = nullptr;
  for (std::string text, place; std::getline(answer, text);) {
    if (text.starts_with("0x") && next != addresses.end()) {
      current = &lines[(next++)->second];
    } else if (current != nullptr && std::getline(answer, place)) {
      current->push_back({text == "??" ? "" : text, place_of(place)});
    }
  }
}

CodeLines lines_of(const std::set<const void*>& addresses) {
  std::map<std::string, std::map<std::uintptr_t, const void*>> files;
  for (const void* address : addresses) {
    // The call ends before the address that it returns to.
    const auto call = reinterpret_cast<std::uintptr_t>(address) - 1;
    Dl_info info;
    link_map* object = nullptr;
    if (dladdr1(reinterpret_cast<const void*>(call), &info, reinterpret_cast<void**>(&object),
                RTLD_DL_LINKMAP) == 0 ||
        object == nullptr) {
      continue;
    }
    std::string file = object->l_name;
    std::error_code error;
    if (file.empty()) file = fs::read_symlink("/proc/self/exe", error).string();
    if (!file.empty() && !is_of_system(file)) files[file][call - object->l_addr] = address;
  }
  CodeLines lines;
  for (const auto& [file, of_file] : files) find_lines(file, of_file, lines);
  return lines;
}

bool is_of_library(const std::string& place) {
  static const std::string root = DYNET_LIKE_SOURCES;
  // CMake joins several sources to one "unity" file. Then sources, installed headers, and the
  // system's.
  if (place.find("/Unity/unity_") != std::string::npos) return true;
  for (const char* folder : {"dynet_like/", "nn/", "batching/"}) {
    if (place.starts_with(root + folder)) return true;
    if (place.find(std::string("/include/") + folder) != std::string::npos) return true;
  }
  return place.starts_with("/usr/include/");
}

// The name of a function without its return type and parameters. Names of template instances begin
// with a return type.
std::string_view name_in(std::string_view function) {
  int depth = 0;  // in brackets
  std::size_t begin = 0;
  for (std::size_t at = 0; at < function.size(); ++at) {
    const char c = function[at];
    if (c == '(' && depth == 0 && !function.substr(at).starts_with("(anonymous namespace)")) {
      return function.substr(begin, at - begin);
    }
    if (c == ' ' && depth == 0) begin = at + 1;
    depth += c == '<' || c == '{' || c == '(' ? 1 : c == '>' || c == '}' || c == ')' ? -1 : 0;
  }
  return function.substr(begin);
}

// Whether a function without a known line belongs to the program: then its name is shown.
bool is_own_function(const std::string& function) {
  const std::string_view name = name_in(function);
  return !name.empty() && name[0] != '_' && !name.starts_with("dynet_like::") &&
         !name.starts_with("std::") && name != "start_thread" && !name.starts_with("clone");
}

// What a program calls: "nn::Linear::operator()" of "dynet_like::nn::Linear::operator()(...)
// const". Empty for functions inside the library.
std::string public_call(const std::string& function) {
  constexpr std::string_view kSpace = "dynet_like::";
  std::string_view name = name_in(function);
  if (!name.starts_with(kSpace)) return "";
  name.remove_prefix(kSpace.size());
  const bool is_call = name.ends_with("::operator");  // of which name_in takes "()" for parameters
  for (const char* inside : {"detail::", "ops::", "(anonymous namespace)", "{lambda", "'lambda"}) {
    if (name.find(inside) != std::string_view::npos) return "";
  }
  return std::string(name) + (is_call ? "()" : "");
}

// The innermost place in the program, and what it calls there. The search ends at main: its caller
// is the C library.
std::string place_of(const CallStack& call, const CodeLines& lines) {
  std::string called;
  for (const void* address : call) {
    const auto found = lines.find(address);
    if (found == lines.end()) continue;
    bool is_main = false;
    for (const CodeLine& line : found->second) {
      if (!line.place.empty() && !is_of_library(line.place)) {
        return line.place + (called.empty() ? "" : " (" + called + ")");
      }
      const std::string name = public_call(line.function);
      if (!name.empty()) called = name;
      is_main |= line.function == "main";
      if (line.place.empty() && is_own_function(line.function)) {
        return line.function + " (no debug information: compile with -g)";
      }
    }
    if (is_main) break;
  }
  return "";
}

}  // namespace

// A system library is named "libm.so.6", "libm-2.31.so" or "libc.musl-x86_64.so.1". A program's own
// "libm-parser.so" is not one.
bool is_of_system(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (const std::string_view stem : {"libc", "libpthread", "libstdc++", "libc++", "libc++abi",
                                      "libgcc_s", "libm", "ld", "linux-vdso", "linux-gate"}) {
    if (!name.starts_with(stem)) continue;
    const std::string rest = name.substr(stem.size());
    if (rest.starts_with(".so")) return true;
    if (rest.size() > 1 && rest[0] == '-' && is_digit(rest[1])) return true;
  }
  for (const char* beginning : {"ld-linux", "ld-musl-", "libc.musl-", "linux-vdso"}) {
    if (name.starts_with(beginning) && name.find(".so") != std::string::npos) return true;
  }
  return false;
}

std::vector<std::vector<std::string>> places_of(
    std::span<const std::map<CallStack, std::uint64_t>> groups, std::size_t most) {
  std::set<const void*> addresses;
  for (const auto& calls : groups) {
    for (const auto& [call, times] : calls) addresses.insert(call.begin(), call.end());
  }
  addresses.erase(nullptr);
  const CodeLines lines = lines_of(addresses);
  std::vector<std::vector<std::string>> places;
  for (const auto& calls : groups) {
    std::map<std::string, std::uint64_t> counts;
    for (const auto& [call, times] : calls) counts[place_of(call, lines)] += times;
    counts.erase("");
    std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
    std::ranges::stable_sort(sorted, std::ranges::greater(),
                             &std::pair<std::string, std::uint64_t>::second);
    places.emplace_back();
    for (const auto& [place, times] : sorted) {
      if (places.back().size() < most) places.back().push_back(place);
    }
  }
  return places;
}

}  // namespace dynet_like::detail
