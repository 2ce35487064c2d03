# shellcheck shell=bash
# Sourced by cluster-in-a-box: a box without namespaces.
# shellcheck disable=SC2034,SC2154

# Ends the processes that COMMAND left once COMMAND itself, which takes over this process, is gone; then
# removes the box. Its processes are those with its folder in their environment.
start_paced_janitor() {
  # shellcheck disable=SC2016
  setsid bash -c '
    trap "" INT TERM HUP
    tail --pid="$1" -s 0.2 -f /dev/null
    for signal in TERM KILL; do
      for file in $(grep -lzsxF "MOELAB_BOX_PACED=$2" /proc/[0-9]*/environ); do
        pid=${file#/proc/}
        kill -"$signal" "${pid%/environ}"
      done
      sleep 0.5
    done
    rm -rf "$2"' janitor $$ "$1" </dev/null >/dev/null 2>&1 &
}

# The hosts are addresses of this machine itself. mpirun takes them for computers and connects their
# ranks by TCP. moelab's programs keep the rates (moe/communicator/paced_links.h).
paced() {
  local box host node hosts_per_node=1 slots=$ranks_per_node
  if [[ -n $intra_gbps ]]; then hosts_per_node=$ranks_per_node slots=1; fi
  # MPI takes up to 8 MiB of shared memory for a rank; two jobs may run at the same time.
  local memory=/dev/shm need_kib=$((nodes * ranks_per_node * 16384)) free_kib
  free_kib=$(df --output=avail -k "$memory" 2> /dev/null | tail -1)
  [[ -w $memory ]] && ((${free_kib:-0} > need_kib)) || memory=${TMPDIR:-/tmp}
  box=$(mktemp -d "$memory/moelab-box.XXXXXX") || fail 3 "no folder can be made in $memory"
  for ((host = 0; host < nodes * hosts_per_node; host++)); do
    node=$((host / hosts_per_node))
    add_to_box "$box" 127.77.0 "$host" "$node" "$slots"
  done
  # Each host has a folder for shared memory too: the files of ranks are named after the host.
  {
    enter_begins "$box" 127.77.0
    cat <<TEXT
export MOELAB_BOX_NODE=\$((host / $hosts_per_node))
export OMPI_MCA_btl_vader_backing_directory=$box/session\$host
export OMPI_MCA_btl_sm_backing_directory=$box/session\$host
exec taskset -c "\$(cat $box/cores\$host)" sh -c "\$command"
TEXT
  } > "$box/enter"
  start_paced_janitor "$box"
  export_box "$box" lo
  mkdir "$box/session"
  export MOELAB_BOX_PACED=$box MOELAB_BOX_NODE=0
  unset OMPI_MCA_btl_vader_backing_directory OMPI_MCA_btl_sm_backing_directory
  exec taskset -c "$(cat "$box/cores0")" "$@"
}
