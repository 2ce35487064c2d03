#!/usr/bin/env bash
# usage: seeds_test.sh GPU_TEST: kernels, golden steps and trainings on the device in software, under ten seeds.
set -euo pipefail
for seed in 0 1 2 3 4 5 6 7 8 9; do
  MOELAB_EMULATED_DEVICES=8 MOELAB_EMULATED_SEED=$seed "$1" --gtest_brief=1 \
    --gtest_filter='CudaKernels.InDouble*:Cuda/GoldenStepOnGpu*:*CudaTraining*:*Communicator*' ||
    { echo "FAILED with seed $seed"; exit 1; }
done
