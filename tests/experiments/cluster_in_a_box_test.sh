#!/usr/bin/env bash
# What experiments/cluster-in-a-box promises, on two nodes. Exit code 77: this machine permits no box.
# $1, where given: moe-bench, which measures the rate of the network cards.
# shellcheck disable=SC2016,SC2317
set -euo pipefail

bench=${1-}
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# As from a terminal: bash lets background jobs ignore SIGINT.
box=(env --default-signal=INT "$root/experiments/cluster-in-a-box")

# True once no process is left in the network namespace whose name is in the file; waits up to 5 s.
gone() {
  local name link
  name=$(< "$1")
  [[ -n $name ]] || return 1
  for _ in {1..50}; do
    link=$(readlink /proc/[0-9]*/ns/net 2> /dev/null | grep -cxF "$name" || true)
    if [[ $link == 0 ]]; then return 0; fi
    sleep 0.1
  done
  return 1
}

# Starts a box whose COMMAND writes down its namespace, then $1 under sh; leaves its process in $pid.
start() {
  rm -f "$scratch/namespace"
  "${box[@]}" --nodes 2 -- sh -c "readlink /proc/self/ns/net > $scratch/namespace.new
    mv $scratch/namespace.new $scratch/namespace; $1" > "$scratch/output" 2>&1 &
  pid=$!
  for _ in {1..100}; do
    if [[ -e $scratch/namespace ]]; then break; fi
    sleep 0.1
  done
  sleep 0.5
}

status=0
"${box[@]}" --probe || status=$?
if [[ $status == 3 ]]; then
  echo "skipped: no namespaces here"
  exit 77
fi
expect "the probe answers yes" equal "$status" 0

interfaces=$(ls /sys/class/net)
host=$(uname -n)
# What MPI leaves in files where it is told nothing.
mpi_files() { find "${TMPDIR:-/tmp}" /dev/shm -maxdepth 1 \( -name 'ompi.node[0-9]*' -o -name 'vader_segment.node[0-9]*' \) 2> /dev/null | sort; }
files=$(mpi_files)

# What a command says on each rank, sorted, in a box of two nodes and these options; in its place what went wrong.
said_by() {
  local ranks=$1 command=$2
  shift 2
  "${box[@]}" --nodes 2 "$@" -- mpirun -np "$ranks" sh -c "$command" 2> "$scratch/errors" | sort | tr '\n' ' ' ||
    cat "$scratch/errors"
}
if command -v mpirun > /dev/null; then
  expect "ranks land on one node each" equal "$(said_by 2 'uname -n')" "node0 node1 "
  expect "nodes are filled before the next is taken" \
    equal "$(said_by 4 'uname -n' --ranks-per-node 2)" "node0 node0 node1 node1 "
  expect "and with links inside nodes too" \
    equal "$(said_by 4 'uname -n' --ranks-per-node 2 --intra-gbps 3)" "node0 node0 node1 node1 "
  folders='echo ${OMPI_FILE_LOCATION%%/ompi.*}'
  expect "daemons of MPI have a folder each, where hosts of a node have one name" \
    equal "$(said_by 4 "$folders" --ranks-per-node 2 --intra-gbps 3 | tr ' ' '\n' | sort -u | grep -c .)" 4
fi

# Nodes are computers of their own, beside one file system.
said=$("${box[@]}" --nodes 2 -- readlink /proc/self/ns/pid)
expect "COMMAND has processes of its own" test "$said" != "$(readlink /proc/self/ns/pid)"
echo here > "$scratch/file"
mkdir "$scratch/shared"
echo seen > "$scratch/shared/file"
expect "node0 reads this machine's /tmp" equal "$("${box[@]}" --nodes 2 -- cat "$scratch/file")" here
"${box[@]}" --nodes 2 -- sh -c "echo left > $scratch/left"
expect "and leaves files there" equal "$(< "$scratch/left")" left
if command -v mpirun > /dev/null; then
  expect "nodes have processes of their own" \
    equal "$(said_by 2 'readlink /proc/self/ns/pid' | tr ' ' '\n' | sort -u | grep -c .)" 2
  expect "but one kernel" \
    equal "$(said_by 2 'cat /proc/sys/kernel/random/boot_id' | tr ' ' '\n' | sort -u | grep -c .)" 1
  expect "ranks of another node see no process of the launcher's" \
    equal "$(said_by 2 'test "$OMPI_COMM_WORLD_RANK" = 0 || pgrep -c mpirun || true')" "0 "
  expect "no process that has ended waits for ever" equal \
    "$("${box[@]}" --nodes 2 -- sh -c 'for i in 1 2; do mpirun -np 2 true; done; sleep 0.2
       mpirun -np 2 sh -c "ps -eo stat | grep -c ^Z || true"' 2> "$scratch/errors" | sort -u)" 0
  expect "another node has a /tmp of its own" \
    equal "$(said_by 2 "cat $scratch/file 2> /dev/null || echo none")" "here none "
  expect "and sees the folders that are shared" \
    equal "$(said_by 2 "cat $scratch/shared/file" --shared "$scratch/shared")" "seen seen "
  expect "the current folder is on every node" \
    equal "$(cd "$scratch/shared" && said_by 2 'cat file')" "seen seen "
  ln -s shared "$scratch/link"
  expect "also by a name that is a link" \
    equal "$(cd "$scratch/link" && said_by 2 "cat $scratch/link/file $scratch/shared/file" | tr -s ' \n' ' ')" "seen seen seen seen "
  mkdir "$scratch/ blanks "
  echo seen > "$scratch/ blanks /file"
  expect "or has blanks at its ends" \
    equal "$(said_by 2 "cat '$scratch/ blanks /file'" --shared "$scratch/ blanks ")" "seen seen "
  mkdir "$scratch/programs"
  printf '#!/bin/sh\nexec mpirun -np 2 "$0.each"\n' > "$scratch/programs/start"
  printf '#!/bin/sh\ncat "%s"\n' "$scratch/programs/start.each" > "$scratch/programs/start.each"
  chmod +x "$scratch/programs/start" "$scratch/programs/start.each"
  mkdir "$scratch/bin"
  ln -s ../programs/start "$scratch/bin/start"
  ln -s ../programs/start.each "$scratch/bin/start.each"
  expect "the folder of a program is, and that of its link" \
    equal "$("${box[@]}" --nodes 2 -- "$scratch/bin/start" 2>&1 | grep -c ^cat)" 2
  expect "a folder is the same on every node" \
    equal "$(said_by 2 "echo word >> $scratch/shared/all" --shared "$scratch/shared"; wc -l < "$scratch/shared/all")" 2
  echo 'node1 slots=1' > "$scratch/hostfile"
  expect "nodes have names" equal \
    "$("${box[@]}" --nodes 2 -- mpirun --hostfile "$scratch/hostfile" -np 1 uname -n 2> "$scratch/errors")" node1
  expect "a command on another node that fails is mpirun's failure" \
    test "$("${box[@]}" --nodes 2 -- sh -c 'mpirun -np 2 sh -c "exit \$OMPI_COMM_WORLD_RANK"; echo $?' 2> /dev/null | tail -1)" = 1
fi

# Gbit/s of an all-gather of two ranks in a box of these options.
rate_of() {
  "${box[@]}" "$@" -- "$bench" collectives --ranks 2 --sizes 4M --collectives all_gather --budget 0.5 --format csv \
    2> "$scratch/errors" |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "bus_bandwidth_bytes_per_s") column = i }
             NR == 2 { print $column * 8 / 1e9 }'
}
if [[ -x $bench ]]; then
  hosts=$("${box[@]}" --nodes 2 -- "$bench" copies --sizes 4K --budget 0.01 --ranks 1 --hostfile "$scratch/hostfile" 2>&1)
  expect "a program starts its ranks where its hostfile says" grep -q 'rank   0 on node1' <<< "$hosts"
fi

# At most the nominal rate; how near it comes depends on what else the machine does.
if [[ -x $bench ]]; then
  rate=$(rate_of --nodes 2 --nic-gbps 1)
  echo "all_gather at 1 Gbit/s: ${rate:-no answer} Gbit/s"
  expect "a network card keeps its rate" \
    awk -v rate="${rate:-0}" 'BEGIN { exit !(rate > 0 && rate < 1.05) }'
  rate=$(rate_of --nodes 1 --ranks-per-node 2 --nic-gbps 0.1 --intra-gbps 1)
  echo "all_gather inside a node, links of 1 Gbit/s and a card of 0.1: ${rate:-no answer} Gbit/s"
  expect "a link inside a node keeps its rate, not the card's" \
    awk -v rate="${rate:-0}" 'BEGIN { exit !(rate > 0.2 && rate < 1.05) }'
fi

# What passes the cards of two nodes with two cards and two ranks each, while all that ranks send goes to rank $1:
# "received by node0's cards, sent by node1's", in 100 KB. The ranks of a node take the cards in order.
passed() {
  local hot=$1 to=(0 0 0 0) sender
  to[hot]=1
  for sender in 0 1 2 3; do echo "${to[*]}"; done > "$scratch/to_$hot"
  "${box[@]}" --nodes 2 --ranks-per-node 2 --cards 2 --nic-gbps 1 -- sh -ec '
    "$1" collectives --ranks 4 --threads 1 --collectives all_to_all_v --routing "$2" --sizes 800K -n 1 -w 0 --quiet > "$3/printed"
    cat /proc/net/dev > "$3/node0"
    mpirun --host 10.77.0.2 -np 1 cat /proc/net/dev > "$3/node1"' sh "$bench" "$scratch/to_$hot" "$scratch" 2> "$scratch/errors" ||
    cat "$scratch/errors"
  awk '$1 == "nic0:" || $1 == "nic1:" { printf "%d ", (FILENAME ~ /node0$/ ? $2 : $10) / 1e5 }' "$scratch/node0" "$scratch/node1"
}
if [[ -x $bench ]]; then
  for hot in 0 1; do
    said=$(passed $hot)
    echo "to rank $hot, 100 KB by card, received by node0 and sent by node1: $said"
    read -r -a by_card <<< "$said"
    expect "rank $hot receives by its card" test "${by_card[hot]:-0}" -ge 4
    expect "and not by the other one" test "${by_card[1 - hot]:-9}" -le 1
    expect "each sender has its own" test "${by_card[2]:-0}" -ge 2 -a "${by_card[3]:-0}" -ge 2
  done
fi

told='echo $MOELAB_BOX_NODES $MOELAB_BOX_RANKS_PER_NODE $MOELAB_BOX_NIC_GBPS $MOELAB_BOX_CARDS ${MOELAB_BOX_INTRA_GBPS-none}'
said=$("${box[@]}" --nodes 2 --ranks-per-node 3 --nic-gbps 1.5 -- sh -c "$told")
expect "programs are told of the box" equal "$said" "2 3 1.5 1 none"
said=$("${box[@]}" --nodes 2 --ranks-per-node 3 --cards 3 --intra-gbps 4 -- sh -c "$told")
expect "and of its links inside nodes" equal "$said" "2 3 0.5 3 4"
said=$(echo words | "${box[@]}" --nodes 2 -- cat)
expect "input reaches the command" equal "$said" words

# Root of a container may not make namespaces itself, but a user namespace may permit it.
in_container=(setpriv --bounding-set -sys_admin --inh-caps -sys_admin)
if ((EUID == 0)) && "${in_container[@]}" unshare --user --map-root-user --net --mount true 2> /dev/null; then
  expect "such root may not make them" test "$("${in_container[@]}" unshare --net --mount echo made 2> /dev/null)" = ""
  said=$("${in_container[@]}" "${box[@]}" --nodes 2 -- uname -n)
  expect "a user namespace serves where root may make no other" equal "$said" node0
fi

status=0
"${box[@]}" --nodes 2 -- sh -c 'exit 7' || status=$?
expect "the command's exit code comes back" equal "$status" 7
status=0
"${box[@]}" --nodes 2 -- sh -c 'kill -TERM $$' || status=$?
expect "so does the signal that ended it" equal "$status" 143
status=0
"${box[@]}" --nodes 2 --shared "$scratch/none" -- true 2> /dev/null || status=$?
expect "a folder that is not there is wrong use" equal "$status" 2
ln -s /tmp "$scratch/all"
for folder in /tmp /dev/shm /tmp/. /dev / /run "$scratch/all"; do
  status=0
  said=$("${box[@]}" --nodes 2 --shared "$folder" -- true 2>&1) || status=$?
  expect "a folder that nodes have for themselves, or with one in it, is wrong use: $folder" \
    equal "$status ${said%%,*}" "2 cluster-in-a-box: --shared $folder: a folder below /tmp or /dev/shm expected"
done
# What a box says where it starts in folder $1 with home folder $2.
said_in() { (cd "$1" && HOME=$2 "${box[@]}" --nodes "${3-2}" -- true 2>&1); }
not_shared() {
  echo "cluster-in-a-box: $1, $2, is not on the other nodes, which have their own $2: a folder below /tmp would be on all nodes"
}
expect "a current folder that nodes have for themselves is told" \
  equal "$(said_in /tmp /)" "$(not_shared 'the current folder' /tmp)"
expect "/dev/shm is one" equal "$(said_in /dev/shm /)" "$(not_shared 'the current folder' /dev/shm)"
expect "such a home folder is told" equal "$(said_in / /tmp)" "$(not_shared 'the home folder' /tmp)"
expect "folders below them are not" equal "$(said_in "$scratch" "$scratch")" ""
expect "nor one that is not there" equal "$(said_in "$scratch" "$scratch/none")" ""
expect "nor a box of one node" equal "$(said_in /tmp /tmp 1)" ""
# A checkout, and a program, at /tmp itself: one of this test.
if unshare --mount true 2> /dev/null; then
  expect "a checkout at /tmp is told" equal "$(unshare --mount bash -c '
      mount --rbind "$1" /tmp && cd / && HOME=/ exec /tmp/experiments/cluster-in-a-box --nodes 2 -- true' sh "$root" 2>&1)" \
    "$(not_shared 'the checkout' /tmp)"
fi
status=0
"${box[@]}" --nodes 0 -- true 2> /dev/null || status=$?
expect "wrong use is exit code 2" equal "$status" 2
status=0
"${box[@]}" --nodes 2 --intra-gbps 4 -- true 2> /dev/null || status=$?
expect "links inside nodes of one rank are wrong use" equal "$status" 2
refused() {
  local status=0 errors
  errors=$("${box[@]}" --nodes 2 --ranks-per-node 2 "$@" -- true 2>&1) || status=$?
  equal "$status" 2 && [[ $errors == "cluster-in-a-box: $1 "* ]]
}
for cards in 0 3 4 1e0 ''; do
  expect "--cards '$cards' is wrong use of two ranks a node" refused --cards "$cards"
done
for option in --nic-gbps --intra-gbps; do
  for gbps in '' 0 0.0009 100.1 1e1 99999999999999; do
    expect "$option '$gbps' is wrong use" refused "$option" "$gbps"
  done
  for gbps in 0.001 100; do
    expect "$option $gbps can be made" "${box[@]}" --nodes 2 --ranks-per-node 2 "$option" "$gbps" -- true
  done
done

# Two nodes on one core, each with half of it.
core=$(awk '/^Cpus_allowed_list/ { split($2, part, /[-,]/); print part[1] }' /proc/self/status)
halves=(taskset -c "$core" "${box[@]}" --nodes 2 --own-share)
# Thousandths of a core that a loop without an end had in a second and a half.
busy='begin=${EPOCHREALTIME/[.,]/}
  while ((${EPOCHREALTIME/[.,]/} - begin < 1500000)); do :; done
  read -r -a field < /proc/$$/stat
  echo $((1000 * (field[13] + field[14]) * 1000000 / $(getconf CLK_TCK) / (${EPOCHREALTIME/[.,]/} - begin)))'
# True once no control group is left whose name is in the file; waits up to 5 s.
groups_gone() {
  local group left
  for _ in {1..50}; do
    left=no
    while read -r group; do [[ ! -d $group ]] || left=yes; done < "$1"
    if [[ $left == no ]]; then return 0; fi
    sleep 0.1
  done
  return 1
}
status=0
"${halves[@]}" --probe 2> "$scratch/errors" || status=$?
if [[ $status == 3 ]]; then
  echo "not tested, shares of a core: $(< "$scratch/errors")"
else
  expect "the probe answers yes to shares of a core" equal "$status" 0
  told_share='echo ${MOELAB_BOX_CORE_SHARE-none}'
  expect "programs are told of the share" equal "$("${halves[@]}" -- sh -c "$told_share")" 0.5
  expect "but not where a node has a core" equal "$("${box[@]}" --nodes 1 --own-share -- sh -c "$told_share" 2> "$scratch/errors")" none
  expect "where the option changes nothing, which is said" grep -q 'own-share changes nothing: each of 1 nodes' "$scratch/errors"
  rate=$("${halves[@]}" -- bash -c "$busy")
  echo "a loop on node0, alone on a core: $rate thousandths of it"
  expect "a node gets no more than its share while the other waits" test "$rate" -gt 0 -a "$rate" -lt 600
  if command -v mpirun > /dev/null; then
    rates=$("${halves[@]}" -- mpirun -np 2 bash -c "[[ \$OMPI_COMM_WORLD_RANK == 1 ]] || exit 0; $busy" 2> "$scratch/errors")
    echo "a loop on node1, alone on a core: $rates thousandths of it"
    expect "a node other than node0 too" test "${rates:-0}" -gt 0 -a "${rates:-1000}" -lt 600
  fi
  for signal in none KILL; do
    "${halves[@]}" -- sh -c "cat /run/box/groups > $scratch/groups.new; mv $scratch/groups.new $scratch/groups; sleep 2" &
    pid=$!
    for _ in {1..100}; do
      if [[ -e $scratch/groups ]]; then break; fi
      sleep 0.1
    done
    expect "each node has a control group" test "$(xargs ls -d < "$scratch/groups" | wc -l)" = 2
    [[ $signal == none ]] || kill -"$signal" "$pid"
    wait "$pid" 2> /dev/null || true
    expect "control groups go with the box, signal $signal" groups_gone "$scratch/groups"
    rm "$scratch/groups"
  done
fi
# A machine without control groups, as many containers are.
if unshare --mount mount -t tmpfs tmpfs /sys/fs/cgroup 2> /dev/null; then
  status=0
  said=$(unshare --mount sh -c 'mount -t tmpfs -o ro tmpfs /sys/fs/cgroup && exec "$@"' sh "${halves[@]}" --probe 2>&1) || status=$?
  expect "no share of a core is exit code 3" equal "$status" 3
  expect "with a word" grep -q 'own-share: this machine lets no node have its own share of a core: .*No such file' <<< "$said"
fi

start 'exit 0'
wait "$pid" || true
expect "nothing is left after the command ended" gone "$scratch/namespace"

start 'sleep 1000 & exit 0'
wait "$pid" || true
expect "nothing is left where the command left a process" gone "$scratch/namespace"

for signal in INT TERM KILL; do
  start "if command -v mpirun > /dev/null; then exec mpirun -np 4 ${bench:-sleep} ${bench:+copies --budget} 1000; else sleep 1000; fi"
  kill -"$signal" "$pid"
  status=0
  wait "$pid" || status=$?
  expect "SIG$signal ends the box with a failure" test "$status" -ne 0
  expect "nothing is left after SIG$signal" gone "$scratch/namespace"
done

start 'trap "echo in order; exit 5" TERM; while :; do sleep 0.1; done'
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
expect "COMMAND may end in order" equal "$status $(< "$scratch/output")" "5 in order"

"${box[@]}" --nodes 2 -- sleep 2 &
pid=$!
said=$("${box[@]}" --nodes 2 -- uname -n)
expect "two boxes live side by side" equal "$said" node0
wait "$pid"

expect "MPI's files of interrupted jobs are gone with the box" equal "$(mpi_files)" "$files"
expect "interfaces of the machine are as they were" equal "$(ls /sys/class/net)" "$interfaces"
expect "the machine's hostname is as it was" equal "$(uname -n)" "$host"
exit $((failures > 0))
