#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "moe/rows/groups.h"
#include "tuner/costs/cost_model.h"

namespace tuner {

/// The name of the cluster whose shape and costs are those that a database has measurements of.
inline constexpr char kMeasuredCluster[] = "measured";

/// A full-duplex link: `bandwidth` in each direction.
struct Link {
  double bandwidth_bytes_per_s = 0;
  double latency_s = 0;

  friend bool operator==(const Link&, const Link&) = default;
};

/// A level of the network above the nodes. Bytes between ranks of different blocks pass the uplink
/// of both, which all ranks of a block share.
struct NetworkLevel {
  std::string name;
  int nodes = 1;       ///< of a block: so many that follow each other
  bool rails = false;  ///< a block has only the cards in one place of these nodes
  Link uplink;         ///< of a block; its latency is added to that of the levels below

  friend bool operator==(const NetworkLevel&, const NetworkLevel&) = default;
};

/// Ranks that compute on the same processors.
struct SharedProcessors {
  double seats = 1;  ///< how many can compute at once, each as fast as one alone; may be a fraction
  std::vector<int> ranks;  ///< ascending

  friend bool operator==(const SharedProcessors&, const SharedProcessors&) = default;
};

/// The machine that a prediction is for. Ranks fill one node before the next.
struct Cluster {
  std::string name;
  std::string device = "cpu";  ///< "cpu" | "cuda": the device whose fits apply
  int nodes = 1;
  int ranks_per_node = 1;
  /// Network cards of a node, a divisor of ranks_per_node. Its first ranks share the first card.
  int cards_per_node = 1;
  /// Bytes leave a node by its card in the place of the receiver's (moe::sending_rank).
  bool receivers_card = false;
  Link inter_node;  ///< one network card
  Link intra_node;  ///< from one rank to the others of its node, together
  /// Ranks of a node are joined in pairs, and a pair has an equal share of the link. Else a switch
  /// joins them, and a rank may use all of its link for one other.
  bool mesh = false;
  std::vector<NetworkLevel> levels;  ///< above the nodes, innermost first; at most kMostLevels
  std::int64_t memory_bytes = 0;     ///< memory of one rank; 0 = not known
  std::vector<SharedProcessors> shared_processors;  ///< every rank is in at most one of them
};

/// The shared processors with more of the ranks 0 .. ranks - 1 than can compute at once, with only
/// these ranks.
std::vector<SharedProcessors> contended_processors(const std::vector<SharedProcessors>& shared,
                                                   int ranks);
/// Whether there are any: single ops then get more or less than their share of a core.
bool ranks_contend(const std::vector<SharedProcessors>& shared, int ranks);

/// The speed of each of `computing` ranks, relative to its speed alone: min(1, seats / computing).
double processor_share(const SharedProcessors& shared, int computing);

/// A cluster, and the costs of its devices and collectives.
struct CostedCluster {
  Cluster cluster;
  CostModel costs;
};

/// Reads a cluster file:
///
///     name = "box"
///     device = "cpu"
///     nodes = 4
///     ranks_per_node = 1
///     memory = "2G"                              # per rank; bytes, or a text with K, M, G (1024)
///     measured = ["gemm", "all_to_all/inter_node"]  # keys of fits; the others are of data sheets
///     processors = 2                             # shared by all ranks, where there are too few
///     [inter_node]                               # a network card, each direction
///     bandwidth_gbit_per_s = 2.0                 # of one card
///     latency_s = 60e-6
///     cards_per_node = 1                         # default; a rank uses the card nearest to it
///     card = "own"                               # default; "shared": a rank uses all of its node;
///                                                # "receiver": the one in its receiver's place
///     [intra_node]                               # each rank, each direction
///     bandwidth_gbit_per_s = 40.0                # to all others together
///     latency_s = 5e-6
///     wiring = "switch"                          # default; "mesh": an equal share to each other
///     [[level]]                                  # above the nodes, innermost first; none by default
///     name = "rack"
///     nodes = 2                                  # of a block; default with rails: all
///     rails = false                              # true: of the cards in the same place of them
///     bandwidth_gbit_per_s = 2.0                 # of a block to all others, each direction
///     latency_s = 2e-6                           # more than within a block
///     # an op kind, or a general fit for all such kinds (cluster_fits.h)
///     [fit.gemm]
///     alpha_s = 5e-6
///     beta_s_per_flop = 6e-12     # 2 per multiply-add
///     [fit.memory]
///     alpha_s = 2e-6
///     beta_s_per_byte = 1e-10     # read and written
///     [fit.all_to_all]
///     link = "inter_node"
///     alpha_s = 2e-4
///     beta_s_per_byte = 4.3e-9    # on the wire
///     [fit.reduce]
///     link = "inter_node"
///     points = [[1024, 3.1e-4], [65536, 5e-4], [1048576, 5.3e-3]]  # bytes on the wire, seconds
///     # the speed of the first while the second runs, in (0, 1]; each is computation,
///     # inter_node, intra_node, copy, or communication for both links; "all" as the second
///     # stands for two others or more (interference.h)
///     [interference]
///     computation_beside_communication = 0.9
///     inter_node_beside_all = 0.7
///
/// `base = "dgx-a100"` at the top takes every key that the file lacks from another file
/// (moe/input/toml_base.h). `settings`, texts such as "cluster.nodes=8", stand above the file. Where
/// a file or settings change a link of what is below, or how many ranks share the cards of a node,
/// the fits of that link that stand below follow (over_changed_link). Throws moe::InputError
/// "FILE:LINE: key: expected ..., got ..." for a key that is unknown, missing or out of range.
CostedCluster load_cluster(const std::filesystem::path& path,
                           const std::vector<std::string>& settings = {});

/// Throws moe::Refusal where the cluster has fewer ranks.
void expect_ranks(const Cluster& cluster, int ranks);
/// Ranks are placed node by node, and a job has the first ones. Throws moe::Refusal unless the cluster has as many ranks as the
/// layout.
moe::Groups groups_of(const Cluster& cluster, const moe::Layout& layout);

/// The bandwidth from one rank to one other of its node.
double bytes_per_s_of_pair(const Cluster& cluster);

std::string to_json(const Cluster& cluster);
/// Throws moe::InputError.
Cluster cluster_from_json(std::string_view json);

}  // namespace tuner
