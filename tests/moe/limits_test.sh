#!/usr/bin/env bash
# limits_test.sh BIN: the messages of programs where the system sets a limit. An mpirun that hangs or is killed
# ends them in order and leaves nothing.
set -euo pipefail
bin=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir tmp shm fake
# MPI's files in folders of this test's own.
export TMPDIR=$directory/tmp OMPI_MCA_btl_vader_backing_directory=$directory/shm
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
seq 3000 | sed 's/$/ the quick brown fox/' > corpus.txt
micro=(--model micro --data corpus.txt --threads 1 --evaluate-batches 0)

failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# expect CODE TEXT COMMAND...: the exit code, and a text of stderr.
expect() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" > out 2> err || got=$?
  if [[ $got != "$code" ]]; then
    fail "$* ended with $got, not $code: $(< err)"
  elif ! grep -qF -e "$text" err; then
    fail "$* said: $(< err), not: $text"
  fi
}

# Waits up to 20 s until COMMAND succeeds.
await() {
  for _ in {1..200}; do
    if "$@" > /dev/null 2>&1; then return; fi
    sleep 0.1
  done
  fail "waited in vain for: $*"
}

# A file that may not grow: the write fails and is reported; the signal would end the program in silence.
limited() { (ulimit -f "$1" && shift && "$@"); }
expect 1 "raise ulimit -f" limited 64 "$bin/moe-train" "${micro[@]}" --steps 1 --db full.db
expect 1 "File too large" limited 1 "$bin/moe-tune" plan --model box-small --cluster box --ranks 2 --planner lancet -o plan.json
"$bin/moe-train" "${micro[@]}" --steps 3 --db run.db > out 2> err || fail "a training to export: $(< err)"
# A reader of the database needs a file of 32 KiB beside it.
expect 1 "File too large" limited 33 "$bin/moe-db" export trace --db run.db --run 1 -o trace.json
[[ ! -e plan.json && ! -e trace.json ]] || fail "a file that was not written to its end is there"
if [[ -x $bin/moe-bench ]]; then
  expect 1 "raise ulimit -f" limited 64 "$bin/moe-bench" copies --sizes 4K --budget 0.01 --db bench.db
fi

# Programs that are asked for no device take little address space, also where they were built with CUDA.
spacious() { (ulimit -v 600000 && "$@"); }
expect 0 "1 iterations" spacious "$bin/moe-train" "${micro[@]}" --steps 1
"$bin/moe-tune" compare --model box-small --cluster box --ranks 2 --planners sequential > out 2> err || fail "$(< err)"

# No threads to be had. The limit holds for users other than root.
if ((EUID == 0)); then
  chmod -R a+rwX "$directory"
  for threads in 2 3 4; do
    # shellcheck disable=SC2016
    expect 1 "no thread can be started for a stream" setpriv --reuid=65534 --regid=65534 --clear-groups \
      bash -c 'ulimit -u "$1" && shift && exec "$@"' limit $threads "$bin/moe-train" "${micro[@]}" --steps 1
  done
else
  echo "threads that cannot be started are not tried: only root can become another user"
fi

command -v mpirun > /dev/null || { echo "no mpirun"; exit $((failures > 0)); }
[[ $(mpirun --version) == *"Open MPI"* || $(mpirun --version) == *OpenRTE* ]] || exit $((failures > 0))

# An mpirun that hangs and takes no notice of SIGUSR1: one SIGTERM ends all.
printf '#!/bin/sh\ntrap "" USR1\ntouch "%s/started"\nsleep 100\n' "$directory" > fake/mpirun
chmod +x fake/mpirun
PATH=$directory/fake:$PATH "$bin/moe-train" "${micro[@]}" --steps 1 --ranks 2 > out 2> err &
program=$!
await test -e started
kill -TERM $program
got=0
wait $program || got=$?
[[ $got == 143 ]] || fail "SIGTERM beside a hanging mpirun ended it with $got: $(< err)"

# begin: a training of two ranks; $program, $mpirun and $rank1 are its processes.
begin() {
  rm -f run.db*
  "$bin/moe-train" "${micro[@]}" --steps 1000000 --ranks 2 --db run.db > out 2> err &
  program=$!
  await pgrep -P $program mpirun
  mpirun=$(pgrep -P $program mpirun)
}
has_rank() { "$bin/moe-db" query --db run.db --format csv "SELECT count(*) FROM run_rank" | grep -q '^[1-9]'; }
has_iterations() { "$bin/moe-db" query --db run.db --format csv "SELECT count(*) FROM iteration" | grep -q '^[1-9]'; }
# ends CODE STATUS
ends() {
  local got=0 status
  wait $program || got=$?
  [[ $got == "$1" ]] || fail "it ended with $got, not $1: $(< err)"
  status=$("$bin/moe-db" query --db run.db --format csv "SELECT status FROM run_view" | tail -n 1)
  [[ $status == "$2" ]] || fail "it was stored as $status, not $2: $(< err)"
}
nothing_left() {
  [[ -z $(find tmp shm -type f -path '*ompi*' -o -type f -name 'vader*') ]] || fail "left: $(find tmp shm -type f)"
}

# A rank that is asked to end while the first rank stores: the run was killed, it did not fail.
begin
await has_rank
kill -TERM "$("$bin/moe-db" query --db run.db --format csv "SELECT pid FROM run_rank WHERE rank = 1" | tail -n 1)"
ends 143 killed

# A stopped mpirun goes on when the program is asked to end.
begin
await has_iterations
kill -STOP "$mpirun"
kill -TERM $program
ends 143 killed

# A killed one leaves ranks, shared memory and files: they are removed.
begin
await has_iterations
ls shm/vader* > /dev/null || fail "no shared memory: the test proves nothing"
kill -KILL "$mpirun"
got=0
wait $program || got=$?
[[ $got == 137 ]] || fail "a killed mpirun ended it with $got: $(< err)"
nothing_left

# Killed with its launcher: the next start removes what is left.
begin
await has_iterations
kill -KILL "$mpirun" $program
wait $program 2> /dev/null || true
"$bin/moe-train" "${micro[@]}" --steps 1 --ranks 2 > out 2> err || fail "the next start: $(< err)"
nothing_left

# A rank that is asked to end before anything is stored.
rank1() { grep -lsz '^OMPI_COMM_WORLD_RANK=1$' /proc/[0-9]*/environ | sed 's|/proc/\([0-9]*\)/.*|\1|' | while read -r pid; do
  if [[ $(< "/proc/$pid/comm") == moe-train && $(ps -o ppid= -p "$pid" | tr -d ' ') == "$mpirun" ]]; then echo "$pid"; fi
done; }
has_rank1() { [[ -n $(rank1) ]]; }
for delay_s in 0 0.05 0.1; do
  begin
  await has_rank1
  sleep $delay_s
  kill -TERM "$(rank1)"
  got=0
  wait $program || got=$?
  [[ $got == 143 ]] || fail "SIGTERM to rank 1 after $delay_s s ended it with $got: $(< err)"
  status=$("$bin/moe-db" query --db run.db --format csv "SELECT coalesce(max(status), 'none') FROM run_view" | tail -n 1)
  [[ $status == killed || $status == none ]] || fail "after $delay_s s it was stored as $status: $(< err)"
done
exit $((failures > 0))
