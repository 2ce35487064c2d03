#!/usr/bin/env bash
# usage: races_test.sh BUILD: the tests of the device in software with its module under the thread sanitizer, in which
# each CUDA thread is a fiber of its own. Fails on any race.
set -euo pipefail
build=$1
cmake --build "$build" --target moelab_cuda_race_checked -- --quiet
library=$(gcc -print-file-name=libtsan.so)
module=$(find "$build" -path '*race_checked/libmoelab_cuda_emulated.so' -print -quit)
# The program itself is not instrumented; the sanitizer knows only address spaces of little randomness.
MOELAB_CUDA_MODULE=$module LD_PRELOAD=$(readlink -f "$library") TSAN_OPTIONS='halt_on_error=1 exitcode=66' \
  setarch "$(uname -m)" -R "$build/bin/gpu_test" --gtest_brief=1 \
  --gtest_filter="${RACES_FILTER:-CudaKernels.InDouble*:*CudaTraining*:CudaBackend.*-*TimesMarks*}"
