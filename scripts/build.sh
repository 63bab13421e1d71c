#!/usr/bin/env bash
# Configures a preset, if necessary, and builds it.
#
# usage: scripts/build.sh PRESET [TARGET...]
#   PRESET  release, debug, asan, tsan, cuda-host or cuda (which needs nvcc); builds in
#           build/PRESET
# CMAKE_BUILD_PARALLEL_LEVEL is the number of jobs (default: the number of processors).
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# == 0)) || [[ $1 == -h || $1 == --help ]]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  exit $(($# == 0 ? 2 : 0))
fi
preset="$1"
shift

if [[ $preset == cuda ]] && ! command -v "${CUDACXX:-nvcc}" >/dev/null; then
  echo "build.sh: need nvcc of CUDA's toolkit in PATH, or CUDACXX, for the preset cuda; got none" >&2
  exit 1
fi

# Ninja notices changes of CMake's files, but not of the presets.
stamp="build/$preset/.configured"
if [[ ! -f $stamp || CMakePresets.json -nt $stamp ]]; then
  cmake --preset "$preset"
  touch "$stamp"
fi

export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc 2>/dev/null || echo 2)}"
if (($# == 0)); then
  cmake --build "build/$preset"
else
  cmake --build "build/$preset" --target "$@"
fi
