# shellcheck shell=bash
# Sourced by cluster-in-a-box: Slurm in the box.
# shellcheck disable=SC2034,SC2154

# One munged serves all nodes by its socket, and slurmctld has the address and the name of node0.
start_slurm() {
  local nodes=$1 tasks=$2 folder=/run/box/slurm node
  mkdir -p "$folder/state" "$folder/munge"
  {
    cat <<TEXT
ClusterName=box
SlurmctldHost=node0($subnet.1)
SlurmUser=root
AuthInfo=socket=$folder/munge/socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=5
SlurmdParameters=config_overrides
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
PartitionName=box Nodes=ALL Default=YES State=UP
TEXT
    for ((node = 0; node < nodes; node++)); do
      echo "NodeName=node$node NodeAddr=$subnet.$((node + 1)) CPUs=$tasks"
    done
  } > "$folder/slurm.conf"
  (umask 077 && head -c 128 /dev/urandom > "$folder/munge/key")
  on_node0() { nsenter --net=/run/netns/host0 --uts=/run/uts/host0 setsid "$@" < /dev/null; }
  on_node0 munged --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" --log-file="$folder/munge/log" \
    --pid-file="$folder/munge/pid" --seed-file="$folder/munge/seed" > "$folder/munge/said" 2>&1
  on_node0 slurmctld -D -f "$folder/slurm.conf" > "$folder/slurmctld.log" 2>&1 &
}

# In the namespaces of a node.
start_slurmd() {
  local node=$1 folder=/run/box/slurm
  setsid slurmd -D -N "node$node" -f "$folder/slurm.conf" < /dev/null > "$folder/slurmd.node$node.log" 2>&1 &
}

# Until every node takes tasks.
await_slurm() {
  local waits
  export SLURM_CONF=/run/box/slurm/slurm.conf
  for ((waits = 0; waits < 300; waits++)); do
    if [[ $(sinfo --noheader --Node --format=%t 2> /dev/null | grep -cx idle) == "$1" ]]; then return; fi
    sleep 0.1
  done
  tail -n 3 /run/box/slurm/*.log >&2
  fail 3 "Slurm does not start: $(sinfo --noheader --format='%N is %t' 2>&1 | tail -1)"
}
