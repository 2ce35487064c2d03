#!/usr/bin/env bash
# usage: script_test.sh BIN: tests/gpu as on a machine with a GPU, which MOELAB_CUDA_MODULE has in software. It configures
# for real. In place of its build there are the programs of BIN, and in place of the machine's tools those of $fakes.
# shellcheck disable=SC2016,SC2317
set -euo pipefail
bin=$1
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../experiments/expect.sh"

fakes=$scratch/fakes
mkdir "$fakes"
fake() {  # fake NAME: stdin is its script, which knows the real one as $real
  { echo '#!/usr/bin/env bash'; echo "real=$(command -v "$1" || true) bin=$bin scratch=$scratch module=$MOELAB_CUDA_MODULE"; cat; } > "$fakes/$1"
  chmod +x "$fakes/$1"
}
fake cmake <<'SCRIPT'
if [[ $1 == --build ]]; then
  ninja -C "$2" -t query "tests/$4" > "$scratch/would_build" && rm -rf "$2/bin" && ln -s "$bin" "$2/bin"
  mkdir -p "$2/lib/moelab" && cp "$module" "$2/lib/moelab"
else
  env > "$scratch/environment"
  printf '%s\n' "$@" > "$scratch/definitions"
  [[ -n ${CONFIGURED-} ]] || exec "$real" "$@"
fi
SCRIPT
fake nvidia-smi <<'SCRIPT'
[[ -n ${SMI-} ]] && echo "GPU 0: a card (UUID: GPU-0)"
SCRIPT
fake find <<'SCRIPT'
if [[ $1 == /dev ]]; then echo -n "${NODES-}"; else exec "$real" "$@"; fi
SCRIPT
fake apt-get <<'SCRIPT'
case $1 in
  install) for name in "$@"; do [[ $name == -* || $name == *=* || $name == install ]] || echo "Inst $name (1.0)"; done ;;
  download) for name in "$@"; do [[ $name == -* || $name == *=* || $name == download ]] || touch "$name.deb"; done ;;
esac
SCRIPT
fake apt-cache <<'SCRIPT'
echo '  Depends: libnlopt0'
SCRIPT
export PATH=$fakes:$PATH

# runs CODE VARIABLE=VALUE... -- ARGUMENT...: tests/gpu ends with this exit code.
runs() {
  local expected=$1 code=0 with=()
  shift
  while [[ $1 != -- ]]; do with+=("$1"); shift; done
  env "${with[@]}" "$root/tests/gpu" --build "$scratch/build" "${@:2}" > "$scratch/out" 2>&1 || code=$?
  [[ $code == "$expected" ]] || { tail -n 30 "$scratch/out"; echo "  exit code $code, expected $expected"; return 1; }
}
says() { grep -qE "$1" "$scratch/out" || { tail -n 30 "$scratch/out"; return 1; }; }

expect "it configures, and the programs run on the device" runs 0 SMI=1 -- \
  -DMOELAB_CUDA=EMULATED -DMOELAB_TEST_PARTS=12 -- -R gpu_programs
expect "one test has passed" says '100% tests passed, 0 tests failed out of 1'
expect "every variable that it hands to CMake is one of the project's" equal "$(grep -c 'not used by the project' "$scratch/out")" 0
for program in gpu_test moe-train moe-bench moe-tune moe-db; do
  expect "it builds $program" grep -q "^ *bin/$program\$" "$scratch/would_build"
done
expect "tests of kernels have its label" runs 0 CONFIGURED=1 -- -- -N
expect "all parts of gpu_test do" equal "$(grep -cE 'gpu_test:[0-9]+/12' "$scratch/out")" 12

# Packed: for one architecture and any processor, without MPI, and libraries are looked for beside the programs.
expect "it packs a build in software" runs 0 CONFIGURED=1 -- --pack "$scratch/packed" -DMOELAB_CUDA=EMULATED
for definition in -DCMAKE_CUDA_ARCHITECTURES=90 -DMOELAB_MPI=OFF -DMOELAB_NATIVE=OFF \
  "-DCMAKE_INSTALL_RPATH=\$ORIGIN/../lib;\$ORIGIN/.."; do
  expect "it is built with $definition" grep -qxF -e "$definition" "$scratch/definitions"
done
expect "what is asked for comes after" equal "$(tail -n 1 "$scratch/definitions")" -DMOELAB_CUDA=EMULATED
expect "the programs are in the folder" test -x "$scratch/packed/bin/gpu_test"

# None where CUDA sees no device and none is listed; a failure where the driver lists one.
blind=(CONFIGURED=1 CUDA_VISIBLE_DEVICES=99)
unset MOELAB_CUDA_MODULE
expect "without a GPU it skips" runs 0 "${blind[@]}" -- -- -R gpu_programs
expect "it says so" says 'gpu_programs \(Skipped\)'
expect "a GPU that nvidia-smi lists and CUDA does not see is a failure" runs 1 "${blind[@]}" SMI=1 -- -- -R gpu_programs
expect "it says so" says 'the driver lists a GPU'
expect "without nvidia-smi, nodes of devices say that there is one" \
  runs 1 "${blind[@]}" NODES=$'/dev/nvidia0\n' -- -- -R gpu_programs
expect "a GPU that somebody hid is none" runs 0 CONFIGURED=1 SMI=1 CUDA_VISIBLE_DEVICES=-1 -- -- -R gpu_programs

# Packages: what is collected on one machine is unpacked on another.
expect "packages are collected" "$root/tests/gpu" --collect "$scratch/debs"
for package in ninja-build libdnnl-dev libopenmpi-dev openmpi-bin libsqlitecpp-dev libsqlite3-dev libcli11-dev \
  libtomlplusplus-dev libfmt-dev libspdlog-dev libgtest-dev libgmock-dev libbenchmark-dev nlohmann-json3-dev \
  libnlopt-dev libnlopt-cxx-dev libgecode-dev libnlopt0; do
  expect "$package is one of them" test -e "$scratch/debs/$package.deb"
done
rm "$scratch"/debs/*
mkdir -p "$scratch/one/DEBIAN" "$scratch/one/usr/include"
printf 'Package: one\nVersion: 1\nArchitecture: all\nMaintainer: nobody <n@example.org>\nDescription: one\n' > "$scratch/one/DEBIAN/control"
echo '// one' > "$scratch/one/usr/include/one.h"
dpkg-deb --build --root-owner-group "$scratch/one" "$scratch/debs/one.deb" > /dev/null
expect "packages are unpacked" runs 0 CONFIGURED=1 -- --debs "$scratch/debs" -- -N
expect "below the build" test -f "$scratch/build/packages/usr/include/one.h"
expect "CMake looks there first" grep -q "^CMAKE_PREFIX_PATH=$scratch/build/packages/usr" "$scratch/environment"

expect "an unknown option is wrong use" runs 2 -- --no-such-option
expect "an option without its value is wrong use" runs 2 -- --debs
exit $((failures > 0))
