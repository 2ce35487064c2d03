#!/usr/bin/env bash
# What experiments/on_a_cluster.md promises, under a real Slurm on two nodes: experiments/cluster-in-a-box --slurm.
# Exit code 77: Slurm, munge or namespaces are not there.
# $1: the folder of the programs; moe-bench may lack.
# shellcheck disable=SC2016,SC2317
set -euo pipefail

bin=$(cd "$1" && pwd)
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
box=("$root/experiments/cluster-in-a-box" --nodes 2 --slurm)

status=0
said=$("${box[@]}" --probe 2>&1) || status=$?
if [[ $status == 3 ]]; then
  echo "skipped: $said"
  exit 77
fi
expect "the probe answers yes" equal "$status" 0
refused=$("$root/experiments/cluster-in-a-box" --paced --slurm -- true 2>&1) || status=$?
expect "a paced box has no Slurm" equal "$status $refused" "2 cluster-in-a-box: --slurm: expected neither --paced nor --intra-gbps"

# The rest runs in one box, as a user would: in a folder that all nodes see. Every check prints "ok: CLAIM" or
# "FAILED: CLAIM".
cat > "$scratch/inside.sh" <<'TEXT'
set -uo pipefail
root=$1 bin=$2
unset OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_hwloc_base_binding_policy  # tests/run sets them
export MOELAB_BIN=$bin MOELAB_DB=results.db PATH=$bin:$PATH OMP_NUM_THREADS=1
check() {  # check CLAIM TEXT FILE: a text that the file has
  if grep -qF -e "$2" "$3"; then echo "ok: $1"; else echo "FAILED: $1: expected '$2' in: $(tail -c 1500 "$3")"; fi
}
ends() {  # ends CLAIM CODE COMMAND...: with this code; leaves what it says in `said`
  local claim=$1 code=$2 got=0
  shift 2
  timeout 60 "$@" > said 2>&1 || got=$?
  if [[ $got == "$code" ]]; then echo "ok: $claim"; else echo "FAILED: $claim: $got, not $code: $(tail -c 1500 said)"; fi
}
rows() { moe-db query --db results.db "$1" --format csv 2>&1 | tail -1; }
same() { if [[ $2 == "$3" ]]; then echo "ok: $1"; else echo "FAILED: $1: '$2' is not '$3'"; fi; }
micro=(--model micro --steps 3 --evaluate-batches 0)

ends "tasks without PMI are refused" 2 srun -n2 moe-train "${micro[@]}"
check "with a word of what is missing" "srun --mpi=pmix" said
ends "each task may run by itself where it is told to" 0 srun -n2 moe-train "${micro[@]}" --ranks 1
ends "srun starts ranks" 0 srun -n2 --mpi=pmix moe-train "${micro[@]}" --db results.db
same "which are one training" "$(rows 'SELECT ranks FROM run_view')" 2
same "on two nodes" "$(rows 'SELECT count(DISTINCT hostname) FROM run_rank')" 2
ends "a shell that is a rank names the way" 2 srun -n1 --mpi=pmix moe-train "${micro[@]}" --ranks 2
check "out of it" "salloc" said
ends "an MPI that sees fewer ranks than were started is noticed" 2 \
  salloc -n1 mpirun -np 1 env OMPI_COMM_WORLD_SIZE=2 moe-train "${micro[@]}"
check "and named" "has started 2 ranks, of which MPI sees 1" said
ends "moe-tune as several tasks is refused" 2 srun -n2 --mpi=pmix moe-tune study s "${micro[@]:0:2}" --ranks 2 --db none.db
check "by name" "moe-tune was started as 2 tasks" said
same "before it writes" "$(ls none.db 2> /dev/null)" ""

ends "salloc's ranks are the allocation's tasks" 0 salloc -n2 moe-train "${micro[@]}" --format json
check "which is said" "--ranks 2: as many as the tasks of Slurm's allocation" said
ends "more ranks than tasks find no place" 1 salloc -n2 moe-train "${micro[@]}" --ranks 4 --format json
check "which is no verdict on the training" '"status":"not_started"' said
check "and has the launcher's words" "not enough slots" said
ends "a launcher is called" 0 salloc -n2 moe-train "${micro[@]}" --launcher 'srun --mpi=pmix -n {ranks}' --db results.db
same "for all ranks" "$(rows 'SELECT ranks FROM run_view ORDER BY run DESC LIMIT 1')" 2
ends "a launcher that refuses has not started" 1 salloc -n2 moe-train "${micro[@]}" --ranks 4 --format json \
  --launcher 'srun --mpi=pmix -n {ranks}'
check "and is told so" '"status":"not_started"' said
printf 'node1 slots=1\n' > hosts
ends "a hostfile chooses among the hosts" 0 salloc -n2 moe-train "${micro[@]}" --ranks 1 --hostfile hosts --db results.db
same "by name" "$(rows 'SELECT hostname FROM run_rank ORDER BY run_id DESC LIMIT 1')" node1

if [[ -x $bin/moe-bench ]]; then
  ends "the sweep runs as it stands" 0 sbatch -W "$root/experiments/slurm/sweep.sh" --sizes 4K --budget 0.01
  same "on two ranks" "$(rows "SELECT ranks FROM run_view WHERE kind = 'bench' ORDER BY run DESC LIMIT 1")" 2
fi
ends "the training runs as it stands" 0 sbatch -W "$root/experiments/slurm/training.sh" --model micro --steps 5
same "on two ranks" "$(rows 'SELECT ranks FROM run_view ORDER BY run DESC LIMIT 1')" 2

ends "the study runs as it stands" 0 sbatch -W "$root/experiments/slurm/study.sh" first --model micro --planners sequential,tutel \
  --top each --repeats 1 --steps 4 --most-of-others 1
same "and trains its planners" "$(rows 'SELECT count(DISTINCT planner) FROM trial_view WHERE measured_s IS NOT NULL')" 2

# Until the newest run is "running", and until a job has left the queue.
await_run() {
  for _ in {1..150}; do
    [[ $(rows 'SELECT status FROM run_view ORDER BY run DESC LIMIT 1') != running ]] || break
    sleep 0.2
  done
}
await_end() {
  for _ in {1..150}; do
    [[ -n $(squeue --noheader --jobs "$1" 2> /dev/null) ]] || break
    sleep 0.2
  done
}

# Asked to end before its time, as Slurm does by --signal=B:TERM.
ends "a training is submitted" 0 sbatch --parsable "$root/experiments/slurm/training.sh" --model micro --steps 1000000
job=$(< said)
await_run
scancel --signal=TERM --batch "$job"
await_end "$job"
same "it ends in order" "$(rows 'SELECT status FROM run_view ORDER BY run DESC LIMIT 1')" killed
check "with a checkpoint" "checkpoint" "moe-train-$job.out"

ends "a training is submitted again" 0 sbatch --parsable "$root/experiments/slurm/training.sh" --model micro --steps 1000000
job=$(< said)
await_run
check "and goes on" "goes on" "moe-train-$job.out"
scancel "$job"
await_end "$job"
same "scancel ends it in order too" "$(rows 'SELECT status FROM run_view ORDER BY run DESC LIMIT 1')" killed

# A node that goes away.
ends "a training is submitted for a node that dies" 0 sbatch --parsable "$root/experiments/slurm/training.sh" --model micro \
  --steps 2000000 --format json
job=$(< said)
await_run
srun --jobid="$job" --overlap -N1 -n1 -w node1 pkill -KILL orted > said 2>&1
await_end "$job"
check "the node is lost" '"status":"lost_node"' "moe-train-$job.out"
ends "a node without its daemon starts no rank" 1 salloc -n2 sh -c \
  'srun --overlap -N1 -n1 -w node1 pkill -KILL -x slurmd; sleep 0.5; exec "$@"' sh moe-train "${micro[@]}" --format json
check "which is no verdict on the training either" '"status":"not_started"' said
TEXT
mkdir "$scratch/work"
(cd "$scratch/work" && "${box[@]}" -- bash "$scratch/inside.sh" "$root" "$bin" 2>&1) > "$scratch/output" || true
cat "$scratch/output"
failures=$((failures + $(grep -c '^FAILED' "$scratch/output" || true)))
expect "all checks ran" grep -q "no verdict on the training either" "$scratch/output"
exit $((failures > 0))
