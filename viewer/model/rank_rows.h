#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "viewer/model/timeline.h"

/// Which ranks of a timeline are shown, in which order, and which of them are drawn together. No
/// drawing here.
namespace viewer {

/// What ranks are sorted by. All but the number put the largest first.
enum class RankOrder { number, idle, lateness, load };
inline constexpr std::array kRankOrders = {RankOrder::number, RankOrder::idle, RankOrder::lateness,
                                           RankOrder::load};

/// The name of an order, which the command line takes: "lateness".
const char* rank_order_name(RankOrder order);

/// What a person asked for.
struct RankChoice {
  std::string ranks = {};  ///< "0-7,64"; all where it is empty or no such list
  RankOrder order = RankOrder::number;
  bool by_node = false;       ///< each node is a band, its ranks have no lanes of their own
  std::set<int> opened = {};  ///< nodes whose ranks have lanes below the band
  std::set<int> pinned = {};  ///< ranks that have lanes above all others
  bool operator==(const RankChoice&) const = default;
};

/// First and last of each interval of a list like "0-7,64", in the order given. None where the text
/// is no such list.
std::optional<std::vector<std::pair<int, int>>> parse_ranks(std::string_view text);

/// The ranks of one node that are shown.
struct NodeRanks {
  int node = 0;
  std::vector<std::size_t> ledgers;  ///< their places in Timeline::ledgers
};

/// One row: the lanes of a rank, or the band of a node.
struct RankRow {
  bool is_node = false;
  std::size_t place = 0;  ///< in Timeline::ledgers, or in RankRows::nodes
  bool pinned = false;
};

struct RankRows {
  std::vector<NodeRanks> nodes;  ///< by node; empty where ranks are not drawn by node
  std::vector<RankRow> rows;     ///< from the top
  /// The places of the ranks that are shown in Timeline::ledgers, pinned ones first.
  std::vector<std::size_t> ledgers;
};

/// Every rank with its lanes, by number.
RankRows all_ranks(const Timeline& timeline);

/// The rows of a timeline. `node_of` tells the node of a rank; ranks that it lacks are grouped by
/// eights. `figures` are what ranks are sorted by, one for each of Timeline::ledgers, or none for
/// the order of numbers; a node has the mean of its ranks.
RankRows rank_rows(const Timeline& timeline, const std::map<int, int>& node_of,
                   const RankChoice& choice, std::span<const double> figures);

/// "3", "8-15" or "0-3, 8": ranks in words, ascending.
std::string ranks_text(std::span<const int> ranks);

}  // namespace viewer
