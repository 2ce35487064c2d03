#!/usr/bin/env bash
# usage: seeds_test.sh GPU_TEST [SEED...]: kernels, golden steps and trainings on the device in software, under ten seeds,
# or those named; as many at a time as there are cores.
set -euo pipefail
program=$1
shift
(($# > 0)) || set -- 0 1 2 3 4 5 6 7 8 9

under() {  # under SEED: a line, and the whole output where it fails
  local begin=$SECONDS out
  if out=$(MOELAB_EMULATED_DEVICES=8 MOELAB_EMULATED_SEED=$1 "$program" --gtest_brief=1 \
    --gtest_filter='CudaKernels.InDouble*:Cuda/GoldenStepOnGpu*:*CudaTraining*:*Communicator*:GpuCluster*' 2>&1); then
    echo "seed $1: $(grep -oE 'PASSED.*|SKIPPED.*' <<< "$out" | tr '\n' ' ')in $((SECONDS - begin)) s"
  else
    echo "$out"
    echo "FAILED with seed $1"
    return 1
  fi
}
export program
export -f under
printf '%s\n' "$@" | xargs -P "$(nproc)" -I SEED bash -c 'under "$1"' under SEED
