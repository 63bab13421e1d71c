#!/usr/bin/env bash
# Builds programs for another machine's GPU, and fills a folder with them, below 64 MiB. Copy the
# folder there and run FOLDER/gpu_check.sh. Nothing is compiled on that machine.
#
# usage: scripts/gpu_pack.sh [OPTION...] FOLDER
#   --device NAME  cuda (default), built by nvcc of CUDA 13; or cuda-host, a rehearsal with kernels
#                  that run on the CPU
#   --arch LIST    GPUs to build for, as CMake names them, with semicolons (default: 80-real;90, the
#                  machine code of compute capability 8 and 9, and PTX for later ones)
#   --build DIR    where to build (default: build/gpu_pack, or build/cuda-host)
#   --jobs N       how many compilers run at once (default: the number of processors)
#
# Then the folder has:
#   gpu_check.sh   runs everything; see its --help
#   bin/           smoke, constants, throughput, dump, two examples and the test programs, stripped
#   lib/           the library with its kernels, and the libraries of this machine that it needs; the
#                  other machine must have Linux on x86-64 with glibc 2.36 or later and a driver of
#                  version 580 or later; cuBLAS 13 and PyTorch for CUDA are optional
#   bench/peers/   the comparison with PyTorch
#   examples/data  training data of the examples
set -euo pipefail

fail() {
  echo "gpu_pack.sh: $1" >&2
  exit "${2:-1}"
}

device=cuda arch="80-real;90" build="" jobs="$(nproc)" folder=""
while (($# > 0)); do
  case "$1" in
    -h | --help)
      sed -n '2,23s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    --device | --arch | --build | --jobs)
      (($# > 1)) || fail "need a value after $1; got nothing" 2
      case "$1" in
        --device) device="$2" ;;
        --arch) arch="$2" ;;
        --build) build="$2" ;;
        --jobs) jobs="$2" ;;
      esac
      shift
      ;;
    -*) fail "need an option or a folder; got $1 (see --help)" 2 ;;
    *)
      [[ -z $folder ]] || fail "need one folder; got $folder and $1" 2
      folder="$(realpath -m -- "$1")"
      ;;
  esac
  shift
done
[[ -n $folder ]] || fail "need a folder; got none (see --help)" 2
[[ ! -e $folder || -z "$(ls -A "$folder")" ]] || fail "need an empty folder; got $folder" 2
[[ $device == cuda || $device == cuda-host ]] || fail "need --device cuda or cuda-host; got $device" 2
[[ $jobs =~ ^[1-9][0-9]*$ ]] || fail "need a number for --jobs; got $jobs" 2
cd "$(dirname "$0")/.."
options=(-DBUILD_SHARED_LIBS=ON)
if [[ $device == cuda ]]; then
  export PATH="$PATH:/usr/local/cuda/bin"
  command -v nvcc >/dev/null || fail "need nvcc of CUDA 13 on the PATH; got none"
  options+=("-DCMAKE_CUDA_ARCHITECTURES=$arch")
  build="${build:-build/gpu_pack}"
fi
build="${build:-build/$device}"

cmake --preset "$device" -B "$build" "${options[@]}" >/dev/null
cmake --build "$build" --parallel "$jobs" --target gpu_pack
cmake --install "$build" --component gpu_pack --strip --prefix "$folder" >/dev/null

# Copies the libraries that are linked, except the C library and the loader: the other machine has
# its own.
own='/(ld-linux-x86-64|libc|libm|libdl|libpthread|librt)\.so'
mapfile -t needed < <(ldd "$folder"/bin/* | awk '/=> \//{print $3}' | sort -u |
  grep -Ev "^$folder/|$own")
((${#needed[@]} == 0)) || cp -Lt "$folder/lib" "${needed[@]}"
missing="$(ldd "$folder"/bin/* | grep 'not found' | sort -u || true)"
[[ -z $missing ]] || fail "need all libraries; got: $missing"

mkdir -p "$folder"/{bench/peers,examples}
cp -r examples/data "$folder/examples/"
cp bench/peers/{cells,data,model,report,run,sequences,trees,worker}.py "$folder/bench/peers/"
cp scripts/gpu_check.sh "$folder/"
changed=""
[[ -z "$(git status --porcelain 2>/dev/null)" ]] || changed=" with changes"
echo "$(git rev-parse HEAD 2>/dev/null || echo unknown)$changed, for $device" >"$folder/packed.txt"

(cd "$folder" && find . -type f -size +8k -printf '%s %P\n' | sort -rn |
  awk '{printf "%9.2f MiB  %s\n", $1 / 1048576, $2}')
bytes="$(find "$folder" -type f -printf '%s\n' | awk '{sum += $1} END {print sum}')"
awk "BEGIN {printf \"%9.2f MiB  in all; there, run gpu_check.sh in this folder\n\", $bytes / 1048576}"
((bytes < 64 * 1048576)) || fail "need less than 64 MiB in all; got $bytes bytes"
