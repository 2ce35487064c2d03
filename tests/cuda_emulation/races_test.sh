#!/usr/bin/env bash
# usage: races_test.sh BUILD [PART...]: the tests of the device in software with its module under the thread sanitizer, in
# which each CUDA thread is a fiber of its own. Fails on any race. Parts: kernels, streams, trainings, four_ranks, four_ranks_f32,
# one_gpu, nccl; all of them by default.
set -euo pipefail
build=$1
shift
# PART DEVICES FILTER: tests of the product. What leaves a device at work would slow all that follows.
parts='kernels 1 CudaKernels.InDouble*
streams 1 CudaTraining.*:CudaBackend.*:StagedCommunicator.*-*TimesMarks*:*OverNccl*:*EndsAWait*
trainings 1 */CudaTraining.*-*/4In*
four_ranks 1 */CudaTraining.*/4InF64
four_ranks_f32 1 */CudaTraining.*/4InF32
one_gpu 1 GpuCluster.ComputesWhat*:GpuCluster.TwoStreams*:GpuCluster.PacedTransfers*
nccl 2 NcclCommunicator.*:*OverNccl*'
for part in "$@"; do
  known=$(cut -d ' ' -f 1 <<< "$parts")
  grep -qxF -e "$part" <<< "$known" ||
    { echo "races_test.sh: unknown part '$part'; known are: ${known//$'\n'/, }" >&2; exit 2; }
done
cmake --build "$build" --target moelab_cuda_race_checked cuda_emulation_race_test -- --quiet
# A fiber's history is memory, and there are thousands.
export TSAN_OPTIONS='halt_on_error=1 exitcode=66 history_size=1'
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

library=$(readlink -f "$(gcc -print-file-name=libtsan.so)")
module=$(find "$build" -path '*race_checked/libmoelab_cuda_emulated.so' -print -quit)
# races "PART DEVICES FILTER": tests of the product, a line or the sanitizer's report; $build/races.PART.log says how far it is.
# The program itself is not instrumented.
# Every stream of a device has a thousand fibers, for which the sanitizer has room on two devices.
races() {
  local part devices filter begin=$SECONDS
  read -r part devices filter <<< "$1"
  if MOELAB_EMULATED_DEVICES=$devices MOELAB_CUDA_MODULE=$module LD_PRELOAD=$library setarch "$(uname -m)" -R \
    "$build/bin/gpu_test" --gtest_filter="$filter" > "$build/races.$part.log" 2>&1 &&
    ! grep -q 'Running 0 tests' "$build/races.$part.log"; then
    echo "$part: $(grep -oE 'PASSED.*|SKIPPED.*' "$build/races.$part.log" | tr '\n' ' ')in $((SECONDS - begin)) s, no race"
  else
    cat "$build/races.$part.log"
    echo "FAILED: $part"
    return 1
  fi
}
export build library module
export -f races
chosen() {  # the parts that are named, or all
  while read -r part rest; do
    if (($# == 0)) || [[ " $* " == *" $part "* ]]; then echo "$part $rest"; fi
  done
}
chosen "$@" <<< "$parts" | xargs -P "$(nproc)" -I PART bash -c 'races "$1"' races PART
