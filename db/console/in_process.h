#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace db::options {

/// The values of `--ranks-in-process` and what belongs to it: a cluster in one GPU, whose ranks are
/// threads of one process (moe/communicator/gpu_cluster.h). The options are named as those of
/// experiments/cluster-in-a-box.
struct InProcess {
  static constexpr int kMostRanks = 64;

  int ranks = 0;  ///< 0: ranks are processes
  int ranks_per_node = 1;
  double nic_gbps = 200;  ///< of the card of each node, in each direction; 0: not paced
  double intra_gbps = 0;  ///< of the link of each rank inside its node; 0: not paced
  int copy_blocks = 0;    ///< of the kernel that copies; 0: the device copies by itself

  explicit operator bool() const { return ranks > 0; }
  int nodes() const { return ranks / ranks_per_node; }
  /// What is wrong with them beside `--device device`; "" where nothing is.
  std::string fault(const std::string& device) const;
  /// The words of a command line that mean the same.
  std::vector<std::string> words() const;
};

/// Adds them to a group of the help.
void add_in_process(CLI::App& app, InProcess& in_process, const std::string& group);

}  // namespace db::options
