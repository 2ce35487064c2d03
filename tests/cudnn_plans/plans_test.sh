#!/usr/bin/env bash
# usage: plans_test.sh PROGRAM DRIVER LIBRARIES: runs plans_test.cpp on a computer without a GPU. PROGRAM is "" where the
# build has no headers of cuDNN; DRIVER is the stub of libcuda.so in a toolkit; LIBRARIES are folders, with ":" between.
# Exit code 77: not run, for the reason that it prints.
set -euo pipefail
program=${1-} driver=${2-} libraries=${3-}

skip() {
  echo "skipped: $*"
  exit 77
}

[[ -n $program ]] || skip "built without the headers of cuDNN and its front end (tests/install-cudnn)"
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
found=no
for folder in ${LD_LIBRARY_PATH//:/ }; do
  [[ ! -e $folder/libcudnn.so.9 ]] || found=yes
done
[[ $found == yes ]] || skip "no libcudnn.so.9"
[[ -e $driver ]] || skip "no stubs/libcuda.so of a CUDA toolkit"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# A cuDNN that cannot be loaded hides the other.
: > "$folder/libcudnn.so.9"
LD_LIBRARY_PATH=$folder "$program" --gtest_brief=1 --gtest_filter=Cudnn.IsNoErrorWhereItIsMissing
rm "$folder/libcudnn.so.9"
# Nor may there be a GPU here for the next, which has no driver.
CUDA_VISIBLE_DEVICES='' LD_LIBRARY_PATH=$LD_LIBRARY_PATH "$program" --gtest_brief=1 --gtest_filter='CudnnAlone.*'

# The functions of driver.c, and all others that a driver has: they do nothing, and say that it went well.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sed -n 's/^int \(cu[A-Za-z]*\)(.*/\1/p' "$here/driver.c" > "$folder/own"
{
  cat "$here/driver.c"
  nm -D --defined-only "$driver" | awk '$2 == "T" {print $3}' | grep -vxFf "$folder/own" |
    sed 's/.*/int &(void) { return 0; }/'
} > "$folder/driver.c"
cc -w -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$folder/libcuda.so.1" "$folder/driver.c"
LD_LIBRARY_PATH=$folder:$LD_LIBRARY_PATH "$program" --gtest_brief=1 --gtest_filter='CudnnPlans.*:*/CudnnPlans.*'
