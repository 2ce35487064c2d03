# shellcheck shell=bash
# Sourced by cluster-in-a-box: the network of the box, inside its network namespace.
# shellcheck disable=SC2034,SC2154

# A bucket fills while ranks compute, and its content passes at once when they exchange again. So it
# is small beside a message. A packet has to fit into it. Packets are as large as that allows,
# because the cores need time to cut messages into packets.
readonly mtu=32000
readonly burst_bytes=40960

# Limits the rate at which an interface sends; $3 names the namespace of a host, if it is in one.
limit_rate() {
  local device=$1 gbps=$2
  tc ${3:+-n "$3"} qdisc add dev "$device" root tbf \
    rate "${gbps}gbit" burst "$burst_bytes" limit 4mb
}

# A pair of interfaces with this rate in each direction: `port` at a bridge, and `card` in the
# namespace of a host.
connect() {
  local host=$1 card=$2 port=$3 bridge=$4 gbps=$5
  ip link add "$port" mtu $mtu type veth peer name "$card" mtu $mtu netns "host$host"
  ip link set "$port" master "$bridge" up
  ip -n "host$host" link set "$card" up
  limit_rate "$card" "$gbps" "host$host"  # what the host sends
  limit_rate "$port" "$gbps"              # what it receives
}

# Lets the cores of a host, and no others, process what the interface receives: the network work of
# a computer slows down no other computer. Without this the kernel may leave the work of both
# directions to the core of one node. $1: list of cores, $2: interface, $3: namespace, if it is in
# one. Left as it is where the kernel or a container does not permit it.
receive_on_cores() {
  local mask=0 core
  for core in ${1//,/ }; do ((core < 62)) && mask=$((mask | 1 << core)); done
  # shellcheck disable=SC2016
  ${3:+nsenter --net="/run/netns/$3"} unshare --mount sh -c '
    mount -t sysfs sysfs /sys && printf "%x" "$1" > "/sys/class/net/$2/queues/rx-0/rps_cpus"' \
    sh "$mask" "$2" 2> /dev/null || true
}

add_bridge() {
  ip link add "$1" mtu $mtu type bridge
  ip link set "$1" up
}

# A node whose ranks are hosts: a bridge between them, and for each of its cards one that the card
# connects with the switch.
add_node_bridges() {
  local node=$1 gbps=$2 cards=$3 card of
  add_bridge "inner$node"
  for ((card = 0; card < cards; card++)); do
    of=${node}c$card
    add_bridge "outer$of"
    ip link add "up$of" mtu $mtu type veth peer name "down$of" mtu $mtu
    ip link set "up$of" master "outer$of" up
    ip link set "down$of" master switch up
    limit_rate "up$of" "$gbps"
    limit_rate "down$of" "$gbps"
  done
}

# A card of a host, with an address. All addresses are of one network, so that any card reaches any
# other. What comes from the address of a card leaves by it, and no other card answers for it.
add_card() {
  local host=$1 card=$2 bridge=$3 gbps=$4
  local name=host$host nic=nic$card address=${subnet%.*}.$card.$((host + 1))
  connect "$host" "$nic" "port${host}c$card" "$bridge" "$gbps"
  if ((card == 0)); then
    ip -n "$name" addr add "$address/16" dev "$nic"
    return
  fi
  ip -n "$name" addr add "$address/16" dev "$nic" noprefixroute
  ip -n "$name" route add "${subnet%.*}.0.0/16" dev "$nic" src "$address" table "$card"
  ip -n "$name" rule add from "$address" lookup "$card"
}

# MPI takes a host for a computer. It is a node with its cards, or a rank, with one card, where ranks
# of a node have links of their own.
add_host() {
  local host=$1 node=$2 bridge=$3 gbps=$4 cards=$5 card
  local name=host$host
  ip netns add "$name"
  if ((cards > 1)); then
    nsenter --net="/run/netns/$name" sh -c '
      cd /proc/sys/net/ipv4/conf/all
      echo 1 > arp_ignore && echo 2 > arp_announce'
  fi
  for ((card = 0; card < cards; card++)); do add_card "$host" "$card" "$bridge" "$gbps"; done
  ip -n "$name" link set lo up
  # A sender keeps its rate after a pause, since iterations compute, then communicate; and it queues
  # little, so that the small messages which open a transfer do not wait behind megabytes of
  # another.
  nsenter --net="/run/netns/$name" sh -c '
    cd /proc/sys/net/ipv4
    echo 0 > tcp_slow_start_after_idle
    echo cubic > tcp_congestion_control
    echo 65536 > tcp_limit_output_bytes
    echo 4096 262144 524288 > tcp_wmem' 2>/dev/null || true
  touch "/run/uts/$name"
  unshare --uts="/run/uts/$name" hostname "node$node"
}

# A link of its own to the other hosts of its node, [first, end).
add_intra_link() {
  local host=$1 node=$2 first=$3 end=$4 gbps=$5 peer
  connect "$host" intra "lane$host" "inner$node" "$gbps"
  for ((peer = first; peer < end; peer++)); do
    ((peer == host)) ||
      ip -n "host$host" route add "$subnet.$((peer + 1))/32" dev intra src "$subnet.$((host + 1))"
  done
}
