#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "db/console/in_process.h"

/// The network between the nodes of a run, in words that are equal for equal networks.
namespace db {

/// The network of this process: that of experiments/cluster-in-a-box where it runs in one, else the
/// cards of this computer. Empty where neither is known.
std::string this_network();

/// Whether it is that of experiments/cluster-in-a-box.
bool is_box_network(const std::string& network);

/// Whether figures of two runs are of different networks. What is not known ("") differs from
/// nothing. Between ranks of one node nothing travels through a card, but for the nodes of a box or in one GPU.
/// `nodes`: the larger number of the two runs.
bool are_other_networks(const std::string& first, const std::string& second, std::int64_t nodes);

/// "box 0.5 Gbit/s" where these variables are those of cluster-in-a-box. Its nodes may have several
/// cards: "box 2 x 0.5 Gbit/s". Its ranks may have links of their own inside a node: "box 0.5
/// Gbit/s, inside 4 Gbit/s". A node may have its own share of a core, in which it computes and
/// moves bytes: "box 0.5 Gbit/s, 0.5 cores a node". Its senders may keep the rate themselves: "paced
/// box 0.5 Gbit/s". None outside of a box.
std::optional<std::string> box_network(const std::map<std::string, std::string>& environment);

/// "paced, one GPU: 200 Gbit/s, inside 400 Gbit/s, copies by 8 blocks": that of a cluster in one GPU
/// (moe/communicator/gpu_cluster.h), without what does not pace; "one GPU, not paced" where nothing
/// does.
std::string one_gpu_network(const options::InProcess& in_process);
/// Whether it is that of a cluster in one GPU.
bool is_one_gpu_network(const std::string& network);

/// Network cards of a node of such a network, of which each rank uses one. None where that is not
/// known: which cards of a computer a rank uses is the choice of the program that sends.
std::optional<int> cards_per_node(const std::string& network);

/// "eth0 25 Gbit/s, mlx5_0 100 Gb/sec (4X EDR)": the cards that are up, with the rates that the
/// kernel knows. `system` is /sys. A virtual card has no rate and is left out.
std::string card_network(const std::filesystem::path& system);

}  // namespace db
