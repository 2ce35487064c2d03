# shellcheck shell=bash
# Sourced by cluster-in-a-box: ssh in the box.
# shellcheck disable=SC2034,SC2154

# Keys and settings of all nodes. They take the place of this machine's in this mount namespace.
make_ssh() {
  local folder=/run/box/ssh
  mkdir -m 755 "$folder" /run/sshd
  ssh-keygen -q -t ed25519 -N '' -f "$folder/host"
  ssh-keygen -q -t ed25519 -N '' -f "$folder/user"
  cat > "$folder/sshd_config" <<TEXT
HostKey $folder/host
AuthorizedKeysFile $folder/user.pub
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
MaxStartups 100
Subsystem sftp internal-sftp
TEXT
  cat > "$folder/ssh_config" <<TEXT
Host node* $subnet.*
  IdentityFile $folder/user
  UserKnownHostsFile $folder/known
  LogLevel ERROR
TEXT
  echo "* $(< "$folder/host.pub")" > "$folder/known"
  mount --bind "$folder/ssh_config" /etc/ssh/ssh_config
}

# In the namespaces of a node.
start_sshd() {
  local node=$1 folder=/run/box/ssh
  setsid taskset -c "$(cat "/run/box/cores$node")" "$(type -P sshd)" -D -e -f "$folder/sshd_config" \
    -o "ListenAddress=$subnet.$((node + 1))" < /dev/null > "$folder/sshd.node$node.log" 2>&1 &
}

# Until every node answers.
await_ssh() {
  local node waits
  for ((node = 0; node < $1; node++)); do
    for ((waits = 0; waits < 100; waits++)); do
      if ssh -o BatchMode=yes "node$node" true < /dev/null 2> /dev/null; then break; fi
      sleep 0.1
    done
    ((waits < 100)) || fail 3 "sshd does not start on node$node: $(tail -1 "/run/box/ssh/sshd.node$node.log")"
  done
}
