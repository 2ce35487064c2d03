# shellcheck shell=bash
# Sourced by cluster-in-a-box: the nodes, whose first processes start commands in them, and their files.
# shellcheck disable=SC2034,SC2154

# Ends the nodes, and with them the processes that COMMAND left, once this process is gone, and then
# removes their control groups.
start_janitor() {
  local hosts=$1
  # shellcheck disable=SC2016
  setsid bash -c '
    trap "" INT TERM HUP
    tail --pid="$1" -s 0.2 -f /dev/null
    for signal in TERM KILL; do
      for ((host = 0; host < $2; host++)); do
        for pid in $(ip netns pids "host$host"); do kill -"$signal" "$pid"; done
      done
      sleep 0.5
    done
    [[ -e /run/box/groups ]] || exit 0
    while read -r group; do
      for ((tries = 0; tries < 50; tries++)); do
        if [[ ! -d $group ]] || rmdir "$group"; then break; fi
        sleep 0.1
      done
    done < /run/box/groups' janitor $$ "$hosts" </dev/null >/dev/null 2>&1 &
}

# The files of a node other than node0: /tmp and /dev/shm are its own, except in folders that all nodes
# see.
own_files() {
  local place path kept
  for place in "${apart[@]}"; do
    kept=$(mktemp -d /run/box/kept.XXXXXX)
    while IFS= read -r path; do
      [[ $path == "$place"/* && -d $path ]] || continue
      mkdir -p "$kept$path"
      mount --rbind "$path" "$kept$path"
    done < /run/box/shared
    mount -t tmpfs -o mode=1777 tmpfs "$place"
    while IFS= read -r path; do
      [[ $path == "$place"/* && -d $kept$path ]] || continue
      mkdir -p "$path"
      mount --rbind "$kept$path" "$path"
    done < /run/box/shared
  done
}

# The processes of a node begin with any number, so that one of another node, or of the box before,
# rarely is one here.
number_processes() {
  { echo $((RANDOM % 16000 + 300)) > /proc/sys/kernel/ns_last_pid; } 2> /dev/null || true
}

# The first process of a node other than node0. It starts the commands that programs of other nodes
# send to its door, as sshd would, and waits for the processes whose parents have ended.
node_init() {
  local node=$1 call
  enter_group "$node"
  own_files
  mount -t proc proc /proc
  number_processes
  [[ ! -e /run/box/slurm ]] || start_slurmd "$node"
  [[ ! -e /run/box/ssh ]] || start_sshd "$node"
  exec 3<> "/run/box/door$node" > /dev/null 2>&1
  touch "/run/box/ready$node"
  while read -r call <&3; do
    answer "$call" 3<&- &
  done
}

# A call is a folder: `command`, for a shell, `environment` and `host`, and two pipes for what the
# command prints. `code` is written before they are closed.
answer() {
  local call=$1 host code=0
  host=$(< "$call/host")
  {
    cd "${HOME:-/}" || cd /
    # shellcheck disable=SC2016
    env -i --default-signal=INT,QUIT sh -c '
      . "$1/environment"
      exec nsenter --net="/run/netns/host$2" --uts="/run/uts/host$2" \
        taskset -c "$(cat "/run/box/cores$2")" sh -c "$(cat "$1/command")"' \
      sh "$call" "$host" || code=$?
    echo $code > "$call/code"
  } < /dev/null > "$call/out" 2> "$call/err"
}

# Writes the program that mpirun calls as it would call ssh: it starts a command on a node.
write_enter() {
  local hosts_per_node=$1
  {
    cat <<TEXT
case \$1 in node*) address=$subnet.\$((\${1#node} * $hosts_per_node + 1)); shift; set -- \$address "\$@" ;; esac
TEXT
    enter_begins /run/box "$subnet"
    echo "node=\$((host / $hosts_per_node))"
    cat <<'TEXT'
if [ "$(uname -n)" = "node$node" ]; then
  exec nsenter --net="/run/netns/host$host" --uts="/run/uts/host$host" \
    taskset -c "$(cat "/run/box/cores$host")" sh -c "$command"
fi
call=$(mktemp -d /run/box/call.XXXXXX) || exit 255
trap 'rm -rf "$call"' EXIT
trap 'exit 143' TERM
mkfifo "$call/out" "$call/err"
printf '%s' "$command" > "$call/command"
# Its /tmp is another one.
(unset TMPDIR TMP TEMP; export -p) > "$call/environment"
echo "$host" > "$call/host"
echo "$call" > "/run/box/door$node"
cat "$call/err" >&2 &
cat "$call/out" &
wait
exit "$(cat "$call/code" 2> /dev/null || echo 255)"
TEXT
  } > /run/box/enter
}

# Writes the program by which Open MPI starts each rank, where a node has several cards: it gives the
# rank its card.
write_use_card() {
  local ranks_per_node=$1 cards=$2
  cat > /run/box/use_card <<TEXT
#!/bin/sh
place=\$((OMPI_COMM_WORLD_LOCAL_RANK % $ranks_per_node))
export OMPI_MCA_btl_tcp_if_include=nic\$((place * $cards / $ranks_per_node))
exec "\$@"
TEXT
  chmod +x /run/box/use_card
}

# Starts a node other than node0, whose first host is $2, and waits until its files and processes are
# its own.
start_node() {
  local node=$1 host=$2
  mkfifo "/run/box/door$node"
  setsid nsenter --net="/run/netns/host$host" --uts="/run/uts/host$host" \
    unshare --mount --pid --fork "$BASH" "$0" --node "$node" < /dev/null > "/run/box/said$node" 2>&1 &
  local init=$!
  until [[ -e /run/box/ready$node ]]; do
    kill -0 "$init" 2> /dev/null || fail 3 "this machine permits no box: node$node: $(tail -1 "/run/box/said$node")"
    sleep 0.02
  done
}
