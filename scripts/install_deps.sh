#!/usr/bin/env bash
# Installs the packages that a build needs. Does nothing if all are installed.
#
# usage: scripts/install_deps.sh [--dev] [--docs] [--mpi]
#   --dev    also clang with its tools and sanitizers, and valgrind
#   --docs   also MkDocs and Doxygen, for the target `docs`
#   --mpi    also Open MPI, to train in several processes
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build ccache pkg-config libeigen3-dev libboost-dev
  libboost-context-dev libboost-program-options-dev libhwy-dev libfmt-dev nlohmann-json3-dev
  zlib1g-dev libzip-dev libutf8proc-dev libonig-dev libgtest-dev libbenchmark-dev python3-venv)

for option in "$@"; do
  case "$option" in
    --dev) packages+=(clang clang-format libclang-rt-dev valgrind) ;;
    --docs) packages+=(mkdocs doxygen) ;;
    --mpi) packages+=(openmpi-bin libopenmpi-dev) ;;
    -h | --help)
      sed -n '2,7s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *)
      echo "install_deps.sh: need --dev, --docs, --mpi or nothing; got $option" >&2
      exit 2
      ;;
  esac
done

is_installed() {
  [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

# On Debian and Ubuntu: installs only missing packages, and updates the lists only if there are
# some.
install_with_apt() {
  local missing=() package as_root=()
  for package in "${packages[@]}"; do
    # In older releases only the package with clang's version in its name has the sanitizers'
    # library, which clang itself recommends.
    if [[ $package == libclang-rt-dev ]] && compgen -G "/usr/lib/llvm-*/lib/clang/*/lib/linux/*fuzzer*" >/dev/null; then
      continue
    fi
    is_installed "$package" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    return
  fi
  if ((EUID != 0)); then
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]}"
  "${as_root[@]}" apt-get update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y "${missing[@]}"
}

# Elsewhere packages have other names: checks that a build can be configured, or says what is
# needed.
check_with_cmake() {
  local scratch
  scratch="$(mktemp -d)"
  if cmake -S . -B "$scratch" -G Ninja >"$scratch/log" 2>&1; then
    rm -rf "$scratch"
    return
  fi
  cat >&2 <<'END'
Not a Debian or Ubuntu system: please install these with your package manager.
  a C++20 compiler (g++ 12, clang 14 or later), CMake 3.25 or later, Ninja, pkg-config, ccache
  Google Highway 1.0, fmt 9, nlohmann-json 3.11, zlib  the library
  Eigen 3.4, Boost 1.74 (context)                      the library
  libzip 1.7, utf8proc 2.8, Oniguruma 6.9.8            the library
  Boost (Beast, headers)                               a server (not needed)
  Boost (program_options)                              examples and benchmarks
  GoogleTest 1.12, Google Benchmark                    tests and benchmarks
  Python 3 with venv and pip                           tests that compare with numpy
  MkDocs 1.4, Doxygen 1.9                              the site
  Open MPI                                             training in several processes (not needed)
CMake says:
END
  tail -n 15 "$scratch/log" >&2
  rm -rf "$scratch"
  exit 1
}

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  install_with_apt
else
  check_with_cmake
fi
