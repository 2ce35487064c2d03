#!/usr/bin/env bash
# usage: races_test.sh BUILD: the tests of the device in software with its module under the thread sanitizer, in which
# each CUDA thread is a fiber of its own. Fails on any race.
set -euo pipefail
build=$1
cmake --build "$build" --target moelab_cuda_race_checked cuda_emulation_race_test -- --quiet
export TSAN_OPTIONS='halt_on_error=1 exitcode=66'
# The sanitizer knows only address spaces of little randomness.
plain=(setarch "$(uname -m)" -R)

own() {  # own FILTER: tests of the emulation itself
  local code=0
  MOELAB_EMULATED_DEVICES=64 "${plain[@]}" "$build/bin/cuda_emulation_race_test" --gtest_brief=1 --gtest_filter="$1" \
    > "$build/races.log" 2>&1 || code=$?
  echo "$code"
}
[[ $(own 'Emulation.OrdersABlock*:Emulation.RunsEvery*:Emulation.MakesStreams*:Emulation.Shuffles*') == 0 ]] ||
  { cat "$build/races.log"; echo "FAILED: a race is seen where there is none"; exit 1; }
for racing in IsGreedySoThatMissingBarriersShow IsGreedyAcrossTwoReductions CopiesInTheOrderOfTheStreamAndLate; do
  [[ $(own "Emulation.$racing") == 66 ]] || { cat "$build/races.log"; echo "FAILED: $racing: its race is not seen"; exit 1; }
done

library=$(gcc -print-file-name=libtsan.so)
module=$(find "$build" -path '*race_checked/libmoelab_cuda_emulated.so' -print -quit)
# races DEVICES FILTER: tests of the product. The program itself is not instrumented.
races() {
  MOELAB_EMULATED_DEVICES=$1 MOELAB_CUDA_MODULE=$module LD_PRELOAD=$(readlink -f "$library") "${plain[@]}" \
    "$build/bin/gpu_test" --gtest_brief=1 --gtest_filter="$2"
}
# Every stream of a device has a thousand fibers, for which the sanitizer has room on two devices.
races 2 'NcclCommunicator.*:*OverNccl*'
races 1 "${RACES_FILTER:-CudaKernels.InDouble*:*CudaTraining*:CudaBackend.*:StagedCommunicator.*-*TimesMarks*:*OverNccl*}"
