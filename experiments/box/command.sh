# shellcheck shell=bash
# Sourced by cluster-in-a-box: COMMAND on node0: its signals, its exit code.
# shellcheck disable=SC2034,SC2154

# Signals that reach COMMAND.
readonly handed_on='HUP INT QUIT TERM USR1 USR2'

# The first process of node0 runs COMMAND, with the signals in $1, a list, as they are by default.
# COMMAND's number and exit code are left in files.
command_init() {
  local by_default=$1 code=0
  shift
  enter_group 0
  number_processes
  # The number for the processes outside, before /proc shows those of this node alone.
  (
    read -r number _ < /proc/self/stat
    mount -t proc proc /proc
    echo "$number" > /run/box/command.new
    mv /run/box/command.new /run/box/command
    if [[ -e /run/box/slurm ]]; then
      start_slurmd 0
      await_slurm "$MOELAB_BOX_NODES"
    fi
    if [[ -e /run/box/ssh ]]; then
      start_sshd 0
      await_ssh "$MOELAB_BOX_NODES"
    fi
    exec env ${by_default:+--default-signal="$by_default"} taskset -c "$(cat /run/box/cores0)" "$@"
  ) || code=$?
  echo $code > /run/box/code
  exit $code
}

# Runs COMMAND on node0 and ends as it ends. Signals that were ignored stay ignored in COMMAND.
run_command() {
  local ignored signal by_default=''
  ignored=$(($(awk '/^SigIgn/ {print "0x" $2}' /proc/self/status)))
  for signal in $handed_on; do
    ((ignored >> ($(kill -l "$signal") - 1) & 1)) || by_default+=${by_default:+,}$signal
    # shellcheck disable=SC2064
    trap "hand_on $signal" "$signal"
  done
  # What a terminal sends to all of this is for COMMAND, not for those who wait for it.
  (
    # shellcheck disable=SC2086
    trap '' $handed_on
    exec nsenter --net=/run/netns/host0 --uts=/run/uts/host0 \
      unshare --mount --pid --fork "$BASH" "$0" --command "$by_default" "$@"
  ) <&0 &
  local init=$! code=0
  while true; do
    code=0
    wait "$init" || code=$?
    kill -0 "$init" 2> /dev/null || break
  done
  exit "$(cat /run/box/code 2> /dev/null || echo $code)"
}

hand_on() {
  until [[ -e /run/box/command || -e /run/box/code ]]; do sleep 0.05; done
  kill -"$1" "$(< /run/box/command)" 2> /dev/null || true
}
