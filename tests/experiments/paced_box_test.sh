#!/usr/bin/env bash
# What experiments/cluster-in-a-box --paced promises. Exit code 77: there is no mpirun.
# $1: communicator_mpi, $2: moe-train, $3, where given: moe-bench.
# shellcheck disable=SC2016,SC2317
set -euo pipefail

communicator=$1 train=$2 bench=${3-}
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
box=("$root/experiments/cluster-in-a-box" --paced)

if ! command -v mpirun > /dev/null; then
  echo "skipped: no mpirun"
  exit 77
fi

"${box[@]}" --probe
said=$("${box[@]}" --nodes 2 --ranks-per-node 2 -- mpirun -np 4 sh -c 'echo $OMPI_COMM_WORLD_RANK.$MOELAB_BOX_NODE' |
  sort | tr '\n' ' ')
expect "nodes are filled before the next is taken" equal "$said" "0.0 1.0 2.1 3.1 "
# Daemons that shared their files would crash in some of them.
expect "20 jobs start" "${box[@]}" --nodes 2 -- \
  sh -ec 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do mpirun -np 2 true; done'
said=$("${box[@]}" --nodes 2 --nic-gbps 1.5 -- sh -c \
  'echo $MOELAB_BOX_NODES $MOELAB_BOX_NODE $MOELAB_BOX_NIC_GBPS ${MOELAB_BOX_INTRA_GBPS-none}')
expect "programs are told of the box" equal "$said" "2 0 1.5 none"
status=0
"${box[@]}" --nodes 2 -- sh -c 'exit 7' || status=$?
expect "the command's exit code comes back" equal "$status" 7

for options in "--ranks-per-node 2" "--ranks-per-node 2 --intra-gbps 20"; do
  # shellcheck disable=SC2086
  if "${box[@]}" --nodes 2 --nic-gbps 10 $options -- mpirun -np 4 "$communicator" \
    > "$scratch/output" 2>&1; then
    echo "ok: collectives give what one rank works out ($options)"
  else
    cat "$scratch/output"
    expect "collectives give what one rank works out ($options)" false
  fi
done

losses() {
  "$@" "$train" --model micro --ranks 2 --threads 1 --steps 3 --evaluate-batches 0 --log-every 1 \
    --format csv 2> "$scratch/errors" | cut -d, -f1-4
}
plain=$(losses env)
expect "a training prints its losses" equal "$(wc -l <<< "$plain")" 4
expect "losses are those of plain processes" equal "$(losses "${box[@]}" --nodes 2 --)" "$plain"

# Gbit/s of a collective in a box of these options.
rate_of() {
  local collective=$1 ranks=$2
  shift 2
  "${box[@]}" "$@" -- "$bench" collectives --ranks "$ranks" --sizes 1M --collectives "$collective" \
    --budget 0.5 --format csv 2> "$scratch/errors" |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "bus_bandwidth_bytes_per_s") column = i }
             NR == 2 { print $column * 8 / 1e9 }'
}
within() { awk -v rate="${1:-0}" -v least="$2" -v most="$3" 'BEGIN { exit !(rate > least && rate < most) }'; }
# At most the nominal rate; how near it comes depends on what else the machine does.
if [[ -x $bench ]]; then
  rate=$(rate_of all_gather 2 --nodes 2 --nic-gbps 0.5)
  echo "all_gather at 0.5 Gbit/s: ${rate:-no answer} Gbit/s"
  expect "a card keeps its rate" within "$rate" 0.1 0.51
  # Of an array of S bytes each rank sends S/2 to the other node. So a card carries S, and the bus
  # bandwidth counts 3/4 S.
  rate=$(rate_of all_to_all 4 --nodes 2 --ranks-per-node 2 --nic-gbps 0.5)
  echo "all_to_all of two ranks a node at 0.5 Gbit/s: ${rate:-no answer} Gbit/s"
  expect "ranks of a node share its card" within "$rate" 0.05 0.383
  rate=$(rate_of all_gather 2 --nodes 1 --ranks-per-node 2 --nic-gbps 0.1 --intra-gbps 1)
  echo "all_gather inside a node, links of 1 Gbit/s and a card of 0.1: ${rate:-no answer} Gbit/s"
  expect "a link inside a node keeps its rate, not the card's" within "$rate" 0.2 1.02
fi

# As from a terminal: bash lets background jobs ignore SIGINT.
env --default-signal=INT "${box[@]}" --nodes 2 -- \
  sh -c 'echo $MOELAB_BOX_PACED > '"$scratch/folder"'; sleep 1000 & sleep 1000' &
pid=$!
for _ in {1..100}; do
  if [[ -s $scratch/folder ]]; then break; fi
  sleep 0.1
done
folder=$(< "$scratch/folder")
expect "the box has a folder" test -d "$folder"
kill -KILL "$pid"
wait "$pid" || true
for _ in {1..100}; do
  if [[ ! -e $folder ]]; then break; fi
  sleep 0.1
done
expect "it is removed when the command is killed" test ! -e "$folder"
left=$(grep -lzsxF "MOELAB_BOX_PACED=$folder" /proc/[0-9]*/environ || true)
expect "and its processes are ended" equal "$left" ""
exit $((failures > 0))
