#!/usr/bin/env bash
# What tests/pack_for_gpu packs runs from a folder anywhere, with the checkout and the build hidden where this machine permits
# that. $1: the folder of the programs. MOELAB_CUDA_MODULE names the device in software.
# shellcheck disable=SC2016,SC2317
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

bin=$1
build=$(readlink -f "$bin/..")
mkdir -p "$scratch/build/lib/moelab" "$scratch/far"
ln -s "$(readlink -f "$bin")" "$scratch/build/bin"
cp "$MOELAB_CUDA_MODULE" "$scratch/build/lib/moelab"
unset MOELAB_CUDA_MODULE
touch "$scratch/build/lib/moelab/libmoelab_cuda.so"
expect "two modules are refused: a device in software would stand for a GPU" equal \
  "$("$root/tests/pack_for_gpu" "$scratch/build" "$scratch/far" 2>&1 | grep -c 'libmoelab_cuda_emulated.so: expected one alone')" 1
rm "$scratch/build/lib/moelab/libmoelab_cuda.so"
quietly() { "$@" > "$scratch/log" 2>&1 || { cat "$scratch/log"; return 1; }; }
expect "a build is packed" quietly "$root/tests/pack_for_gpu" "$scratch/build" "$scratch/far/moelab-gpu.tar.gz"
expect "its size is said" grep -qE '^.*/moelab-gpu.tar.gz: [1-5]?[0-9] MiB, [0-9]+ unpacked$' "$scratch/log"
expect "it is one folder" equal "$(tar -tf "$scratch/far/moelab-gpu.tar.gz" | cut -d / -f 1 | sort -u)" moelab-gpu
tar -C "$scratch/far" -xf "$scratch/far/moelab-gpu.tar.gz"
packed=$scratch/far/moelab-gpu
expect "programs have no symbols left" equal "$(nm "$packed/bin/moe-train" 2> /dev/null | wc -l)" 0
for library in libdnnl.so.2 libgomp.so.1 libfmt.so.9 libsqlite3.so.0; do
  if ldd "$bin/gpu_test" | grep -q "$library"; then expect "$library is there" test -s "$packed/lib/$library"; fi
done
expect "glibc is not" test ! -e "$packed/lib/libc.so.6"
expect "nor is Python's cache" equal "$(find "$packed" -name __pycache__ | wc -l)" 0

hidden=()
if unshare --mount true 2> /dev/null; then
  hidden=(unshare --mount bash -c 'for folder in "$1" "$2"; do
      [[ ! -d $folder ]] || mount -t tmpfs none "$folder" || exit
    done
    shift 2
    exec "$@"' hide "$root" "$build")
else
  echo "the checkout is not hidden: this machine permits no mounts"
fi
cd /
expect "all steps are done without the checkout" quietly "${hidden[@]}" "$packed/experiments/gpu" --out "$scratch/out"
expect "none for want of a file" equal "$(grep -ciE 'no such file|cannot open' "$scratch/out/log.txt")" 0
expect "trainings are on the packed text" grep -q "$packed/text/moelab.txt" "$scratch/out/log.txt"
expect "a golden step of PyTorch's is among the tests that run there" quietly "${hidden[@]}" "$packed/bin/gpu_test" \
  --gtest_filter='*transformer_Top1CapacityDp1Ep1Esp1Tp1F64'
expect "and passes" grep -q '^\[  PASSED  \] 1 test' "$scratch/log"

# What a library that is nowhere leads to: its name.
printf '#!/bin/sh\necho "	libcublas.so.99 => not found"\n' > "$scratch/ldd"
chmod +x "$scratch/ldd"
misses() { ! PATH=$scratch:$PATH "$packed/experiments/gpu" --out "$scratch/out" > "$scratch/log" 2>&1 &&
  grep -q '^gpu: libcublas.so.99: neither in ' "$scratch/log"; }
expect "a library that is nowhere is named" misses
mkdir -p "$scratch/venv/lib/python3/site-packages/nvidia/cublas/lib" "$scratch/venv/bin"
printf '#!/bin/sh\n' > "$scratch/venv/bin/python"
chmod +x "$scratch/venv/bin/python"
touch "$scratch/venv/lib/python3/site-packages/nvidia/cublas/lib/libcublas.so.99"
printf '#!/bin/sh\n[ -e %s/lib/libcublas.so.99 ] || echo "	libcublas.so.99 => not found"\n' "$packed" > "$scratch/ldd"
finds() { PATH=$scratch:$PATH quietly "$packed/experiments/gpu" --out "$scratch/out" --venv "$scratch/venv"; }
expect "one of PyTorch's packages is found" finds
expect "and linked beside those that are packed" test -L "$packed/lib/libcublas.so.99"
exit $((failures > 0))
