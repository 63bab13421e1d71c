#!/usr/bin/env bash
# Fills a folder with all that a machine with a GPU needs to build and test the project without a
# network: take the folder there, and run FOLDER/gpu_check.sh.
#
# usage: scripts/gpu_pack.sh [--data DATA] [--list] FOLDER
#   --data DATA  also the data sets, from this folder; tests that need them skip visibly without
#   --list       only say what would be packed; nothing is written
#
# What is in the folder then, about 60 MB:
#   source/       the last commit; changes that are not committed are left out, with a warning
#   third_party/  a prefix for CMake, from the Debian packages of this machine: Eigen, fmt,
#                 nlohmann-json and Boost (the folders in use) as headers; Highway, zlib, GoogleTest and
#                 Boost's program_options and context as libraries, with their licences
#   shared/data/  the data sets, with --data
#   gpu_check.sh  starts source/scripts/gpu_check.sh, whose --help says what it does
# The libraries are those of this machine: for its processor, its C library and its C++ library, or
# later ones. The other machine brings CUDA 13.0, CMake 3.25, Ninja and g++ 12 or clang 14, and for
# the comparison Python with PyTorch for CUDA.
set -euo pipefail

fail() {
  echo "gpu_pack.sh: $1" >&2
  exit "${2:-1}"
}

data="" list=no folder=""
while (($# > 0)); do
  case "$1" in
    -h | --help)
      sed -n '2,20s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    --list) list=yes ;;
    --data)
      (($# > 1)) || fail "need a folder after --data; got nothing" 2
      data="$(realpath -- "$2")"
      shift
      ;;
    -*) fail "need --data, --list or a folder; got $1" 2 ;;
    *)
      [[ -z $folder ]] || fail "need one folder; got $folder and $1" 2
      folder="$(realpath -m -- "$1")"
      ;;
  esac
  shift
done
[[ -n $folder ]] || fail "need a folder; got none (see --help)" 2
[[ ! -e $folder || -z "$(ls -A "$folder")" ]] || fail "need an empty folder; got $folder" 2
[[ -z $data || -d $data ]] || fail "need a folder after --data; got $data" 2
cd "$(dirname "$0")/.."

# Copied whole, or for Boost in part; then libraries.
packages=(libeigen3-dev libfmt-dev nlohmann-json3-dev libhwy-dev libhwy1 libgtest-dev zlib1g-dev
  libboost1.74-dev libboost-program-options1.74-dev libboost-context1.74-dev)
header_folders=(eigen3 fmt nlohmann hwy gtest zlib.h zconf.h)  # and files
library_folder="/usr/lib/$(gcc -print-multiarch)"
libraries=(libhwy.so.1 libgtest.a libgtest_main.a libz.a libboost_program_options.a libboost_context.a)

# The folders below boost/ of which the project's includes need a header, as a whole: which headers
# of these are read depends on the compiler.
boost_folders() {
  local includes
  includes="$(git grep -h '^#include <boost/' -- '*.h' '*.cpp' '*.cu' | sort -u)"
  g++ -std=c++20 -M -xc++ - <<<"$includes" | tr ' ' '\n' |
    sed -n 's,^/usr/include/boost/\([^/]*\)/.*,\1,p' | sort -u
}

for folder_or_file in "${header_folders[@]/#//usr/include/}" "${libraries[@]/#/$library_folder/}"; do
  [[ -e $folder_or_file ]] || fail "need $folder_or_file; got nothing there: run scripts/install_deps.sh"
done
mapfile -t boost < <(boost_folders)
((${#boost[@]} > 0)) || fail "need Boost's headers below /usr/include; got none"

if [[ -n "$(git status --porcelain)" ]]; then
  echo "gpu_pack.sh: changes that are not committed are left out" >&2
fi
if [[ $list == yes ]]; then
  echo "commit $(git rev-parse HEAD)"
  printf 'headers /usr/include/%s\n' "${header_folders[@]}"
  printf 'headers /usr/include/boost/%s\n' "${boost[@]}"
  printf "library $library_folder/%s\n" "${libraries[@]}"
  [[ -z $data ]] || echo "data $data"
  exit 0
fi

mkdir -p "$folder/source" "$folder"/third_party/{include/boost,lib/cmake,licenses}
git archive HEAD | tar -x -C "$folder/source"
git rev-parse HEAD >"$folder/source/.packed_commit"
(cd /usr/include && cp -rL "${header_folders[@]}" "$folder/third_party/include/")
(cd /usr/include/boost && cp -rL ./*.hpp "${boost[@]}" "$folder/third_party/include/boost/")
(cd "$library_folder" && cp -L "${libraries[@]}" "$folder/third_party/lib/")
for config in scripts/gpu_third_party/*Config.cmake; do
  name="$(basename "$config" Config.cmake)"
  mkdir "$folder/third_party/lib/cmake/$name"
  cp "$config" "$folder/third_party/lib/cmake/$name/"
done
for package in "${packages[@]}"; do
  [[ ! -f /usr/share/doc/$package/copyright ]] ||
    cp "/usr/share/doc/$package/copyright" "$folder/third_party/licenses/$package"
done
if [[ -n $data ]]; then
  mkdir -p "$folder/shared"
  cp -r "$data" "$folder/shared/data"
  chmod -R u+w "$folder/shared/data"
fi
cat >"$folder/gpu_check.sh" <<'END'
#!/usr/bin/env bash
# Builds and tests what is packed here; --help says how.
exec "$(dirname "$0")/source/scripts/gpu_check.sh" "$@"
END
chmod +x "$folder/gpu_check.sh"
du -sh "$folder" | sed 's/\s.*/ packed; on the other machine run gpu_check.sh in this folder/'
