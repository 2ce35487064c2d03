#include "tuner/costs/call_bytes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "moe/program/work.h"
#include "tuner/costs/call_loads.h"

namespace tuner {
namespace {

constexpr std::int64_t kFewPeers = 8;  ///< to each so many, a call's bytes stay pairs

/// The call's bytes between any two ranks are those of the one that `by_source` tells.
struct EvenBytes {
  std::vector<std::int64_t> to_each;  ///< [member]
  bool by_source = false;             ///< what it sends to each other rank, else what it receives
};

class Counting {
 public:
  Counting(const CallSituation& situation, const std::vector<int>& members, const Folding& folding,
           GroupCall& call)
      : s_(situation), members_(members), folding_(folding), call_(call) {}

  void count() {
    if (members_.size() < 2) return;
    const int rings = rings_over_cards();
    if (std::holds_alternative<moe::AllReduce>(s_.op.kind) ||
        std::holds_alternative<moe::ReduceNorm>(s_.op.kind) ||
        std::holds_alternative<moe::ReduceTied>(s_.op.kind)) {
      count_ring(std::ranges::max(bytes_from(s_.op, members_.front())), rings);
    } else if (rings > 1 && passes_on()) {
      const std::vector<std::int64_t> to_others = bytes_from(s_.op, members_.front());
      count_ring(std::accumulate(to_others.begin(), to_others.end(), std::int64_t{0}), rings);
    } else if (const auto even = even_bytes()) {
      count_even(*even);
    } else {
      count_each();
    }
  }

 private:
  const moe::Groups& groups() const { return s_.groups; }
  bool is_folded() const { return !call_.copies.empty(); }
  int class_of(int rank) const { return s_.classes.of_rank[rank]; }
  int place_of(int one) const {
    return static_cast<int>(std::ranges::lower_bound(call_.ranks, one) - call_.ranks.begin());
  }
  double copies(int one) const { return copies_of(call_, static_cast<std::size_t>(place_of(one))); }

  std::vector<std::int64_t> bytes_from(const moe::Op& op, int rank) const {
    if (s_.layer == nullptr) return moe::bytes_to_peers(s_.program, op, {}, groups(), rank);
    auto& known = s_.known.bindings;
    if (const auto found = known.find(rank); found != known.end()) {
      return moe::bytes_to_peers(s_.program, op, found->second, groups(), rank);
    }
    moe::Binding binding;
    binding.layouts.emplace(s_.layer->at, moe::make_row_layout(*s_.layer, groups(), rank));
    auto bytes = moe::bytes_to_peers(s_.program, op, binding, groups(), rank);
    // Of thousands of ranks each takes megabytes: those that dispatches are counted from, no more.
    const bool keeps = groups().ranks <= kMostSingleRanks || known.size() < 2;
    if (keeps) known.emplace(rank, std::move(binding));
    return bytes;
  }

  /// bytes_from() of a gather or scatter among ranks that share experts, of which each received as
  /// many rows.
  std::vector<std::int64_t> bytes_to_sharers(int rank) const {
    const moe::Use& rows = s_.op.reads[0];
    const moe::Tensor& tensor = s_.program.tensors[rows.tensor];
    const auto [known, is_new] = s_.known.to_sharers.try_emplace(
        {(*s_.in_layer)[moe::rank_in_stage(groups(), rank)], rows.slice.index, rows.slice.count,
         rows.slice.span, tensor.columns * moe::bytes_of(tensor.dtype)});
    if (is_new) known->second = std::ranges::max(bytes_from(s_.op, rank));
    std::vector<std::int64_t> bytes(members_.size(), known->second);
    bytes[moe::index_in_group(groups(), moe::GroupKind::expert_sharded, rank)] = 0;
    return bytes;
  }
  bool is_among_sharers() const {
    return s_.in_layer != nullptr && (std::holds_alternative<moe::GatherRows>(s_.op.kind) ||
                                      std::holds_alternative<moe::ScatterRows>(s_.op.kind));
  }

  /// Whether a ring would pass on the bytes that a rank sends to all others.
  bool passes_on() const {
    return std::holds_alternative<moe::AllGather>(s_.op.kind) ||
           std::holds_alternative<moe::GatherShares>(s_.op.kind) ||
           std::holds_alternative<moe::ReduceScatter>(s_.op.kind) ||
           std::holds_alternative<moe::ReduceShares>(s_.op.kind);
  }

  /// The ranks of the call on each of several nodes, where rings use all their cards; else 1.
  int rings_over_cards() const {
    if (!s_.rings_use_all_cards || groups().card_of.empty()) return 1;
    std::map<int, int> on_node;
    for (const int rank : members_) ++on_node[groups().node_of[rank]];
    const int ranks = on_node.begin()->second;
    const bool alike =
        std::ranges::all_of(on_node, [&](const auto& node) { return node.second == ranks; });
    return alike && on_node.size() > 1 ? ranks : 1;
  }

  /// From rank to rank in their order, around. Of `rings` that is the order inside a node: each ring
  /// begins there at another rank, and goes on in the same place of the next node.
  void count_ring(std::int64_t bytes, int rings) {
    if (bytes <= 0) return;
    const auto [known, is_new] =
        s_.known.rings.try_emplace({*moe::group_of(s_.op), members_.front(), bytes, rings});
    if (!is_new) {
      call_ = known->second;
      return;
    }
    const std::size_t n = members_.size(), of_node = static_cast<std::size_t>(rings);
    for (std::size_t i = 0; i < n; ++i) {
      if (rings == 1) {
        pass_on(i, (i + 1) % n, bytes);
        continue;
      }
      const std::size_t first = i - i % of_node;
      const std::int64_t across = (bytes + rings - 1) / rings;
      pass_on(i, (i + of_node) % n, across);
      if (bytes > across) pass_on(i, first + (i + 1) % of_node, bytes - across);
    }
    end_pairs();
    known->second = call_;
  }

  /// Between two places in members_, on the way of a ring.
  void pass_on(std::size_t from, std::size_t to, std::int64_t bytes) {
    const int node = groups().node_of[members_[from]];
    if (!s_.rings_use_all_pairs || groups().node_of[members_[to]] != node) {
      return add(members_[from], members_[to], bytes);
    }
    std::vector<int> others;
    for (const int rank : members_) {
      if (groups().node_of[rank] == node && rank != members_[from]) others.push_back(rank);
    }
    const auto pairs = static_cast<std::int64_t>(others.size());
    for (const int other : others) add(members_[from], other, (bytes + pairs - 1) / pairs);
  }

  std::optional<EvenBytes> even_bytes() const {
    const auto& kind = s_.op.kind;
    if (std::holds_alternative<moe::ExchangeCounts>(kind) ||
        std::holds_alternative<moe::GatherLoads>(kind) ||
        std::holds_alternative<moe::AllGather>(kind) ||
        std::holds_alternative<moe::ReduceScatter>(kind)) {
      const std::int64_t bytes = bytes_from(s_.op, members_[0])[1];
      return EvenBytes{std::vector<std::int64_t>(members_.size(), bytes), true};
    }
    const auto* exchange = std::get_if<moe::AllToAll>(&kind);
    if (exchange == nullptr || s_.in_layer == nullptr) return std::nullopt;
    // Every rank dispatches the same rows; a combine brings the same rows back.
    const moe::Use& rows = s_.op.reads[0];
    const moe::Tensor& tensor = s_.program.tensors[rows.tensor];
    const auto [known, is_new] =
        s_.known.dispatches.try_emplace({rows.slice.index, rows.slice.count, rows.slice.span,
                                         tensor.columns * moe::bytes_of(tensor.dtype)});
    if (is_new) {
      moe::Op dispatch = s_.op;
      moe::AllToAll sent = *exchange;
      sent.direction = moe::Direction::dispatch;
      dispatch.kind = sent;
      known->second = bytes_from(dispatch, members_[0]);
      known->second[0] = bytes_from(dispatch, members_[1])[0];
    }
    return EvenBytes{known->second, exchange->direction == moe::Direction::combine};
  }

  void count_even(const EvenBytes& even) {
    const auto n = static_cast<std::int64_t>(members_.size());
    if (!is_folded() && n * (n - 1) <= folding_.most_pairs) {
      for (std::size_t from = 0; from < members_.size(); ++from) {
        for (std::size_t to = 0; to < members_.size(); ++to) {
          const std::int64_t bytes = even.to_each[even.by_source ? from : to];
          if (from != to && bytes > 0) call_.transfers.push_back(transfer(from, to, bytes));
        }
      }
      return;
    }
    const bool one_way_out = groups().levels.empty() && groups().place_of.empty();
    // By classes, pairs are few, and exact where blocks and relays part what a rank sends.
    const bool as_pairs = is_folded() && !one_way_out && call_.ranks.size() <= kMostSingleRanks;
    if (!as_pairs) {
      call_.by_source = even.by_source;
      call_.bytes.resize(call_.ranks.size());
    }
    if (one_way_out) return sum_by_node(even);
    std::vector<bool> seen(s_.classes.rank_of.size());
    for (std::size_t from = 0; from < members_.size(); ++from) {
      const int one = class_of(members_[from]);
      if (seen[one]) continue;  // alike
      seen[one] = true;
      for (std::size_t to = 0; to < members_.size(); ++to) {
        const std::int64_t bytes = even.to_each[even.by_source ? from : to];
        if (from == to || bytes <= 0) continue;
        if (as_pairs) {
          add(members_[from], members_[to], bytes, copies(one));
        } else {
          add_to_ranks(transfer(from, to, bytes), copies(one));
        }
      }
    }
    end_pairs();
  }

  /// count_even() where all that leaves a node takes the same links.
  void sum_by_node(const EvenBytes& even) {
    struct OnNode {
      double ranks = 0, bytes = 0;  ///< bytes: the sum of to_each
    };
    std::vector<OnNode> nodes(static_cast<std::size_t>(std::ranges::max(groups().node_of)) + 1);
    OnNode all;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      OnNode& node = nodes[groups().node_of[members_[i]]];
      const auto bytes = static_cast<double>(even.to_each[i]);
      node.ranks += 1;
      node.bytes += bytes;
      all.ranks += 1;
      all.bytes += bytes;
    }
    std::vector<bool> seen(s_.classes.rank_of.size());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const int one = class_of(members_[i]);
      if (seen[one]) continue;  // alike
      seen[one] = true;
      const OnNode& node = nodes[groups().node_of[members_[i]]];
      const auto own = static_cast<double>(even.to_each[i]);
      const double own_between = own * (all.ranks - node.ranks),
                   own_within = own * (node.ranks - 1);
      const double others_between = all.bytes - node.bytes, others_within = node.bytes - own;
      call_.bytes[place_of(one)] =
          even.by_source
              ? RankBytes{own_between, others_between, own_within, others_within, {}, {}}
              : RankBytes{others_between, own_between, others_within, own_within, {}, {}};
    }
  }

  void count_each() {
    std::vector<bool> seen(s_.classes.rank_of.size());
    for (const int rank : members_) {
      if (seen[class_of(rank)]) continue;  // alike
      seen[class_of(rank)] = true;
      const auto bytes = is_among_sharers() ? bytes_to_sharers(rank) : bytes_from(s_.op, rank);
      for (std::size_t peer = 0; peer < bytes.size(); ++peer) {
        if (bytes[peer] > 0) add(rank, members_[peer], bytes[peer], copies(class_of(rank)));
      }
    }
    end_pairs();
    call_.by_source = !call_.bytes.empty() && sends_less_evenly();
  }

  bool sends_less_evenly() const {
    double out = 0, in = 0;
    for (const RankBytes& bytes : call_.bytes) {
      out = std::max({out, bytes.out_between, bytes.out_within});
      in = std::max({in, bytes.in_between, bytes.in_within});
    }
    return out > in;
  }

  /// Between two places in members_.
  Transfer transfer(std::size_t from, std::size_t to, std::int64_t bytes) const {
    return transfer_between(groups(), members_, members_[from], members_[to], bytes);
  }

  /// `count`: so many transfers like this one.
  void add(int from, int to, std::int64_t bytes, double count = 1) {
    const Transfer transfer = transfer_between(groups(), members_, from, to, bytes);
    if (is_folded()) {
      const int relay = transfer.relay < 0 ? -1 : class_of(transfer.relay);
      Sum& sum =
          sums_[{class_of(from), class_of(to), relay, transfer.between_nodes, transfer.levels}];
      sum.bytes += static_cast<double>(bytes) * count;
      sum.count += count;
      return;
    }
    if (!call_.bytes.empty()) return add_to_ranks(transfer, 1);
    call_.transfers.push_back(transfer);
    const auto most =
        std::max(folding_.most_pairs, kFewPeers * static_cast<std::int64_t>(members_.size()));
    if (static_cast<std::int64_t>(call_.transfers.size()) <= most) return;
    call_.bytes.resize(call_.ranks.size());
    for (const Transfer& one : call_.transfers) add_to_ranks(one, 1);
    call_.transfers.clear();
  }
  /// `count` such transfers between ranks of the same classes.
  void add_to_ranks(Transfer transfer, double count) {
    if (is_folded()) {
      transfer.from = class_of(transfer.from);
      transfer.to = class_of(transfer.to);
      transfer.out = count / copies(transfer.from);
      transfer.in = count / copies(transfer.to);
    }
    if (is_folded() && transfer.relay >= 0) {
      transfer.relay = class_of(transfer.relay);
      transfer.relayed = count / copies(transfer.relay);
    }
    add_to_members(transfer, call_, call_.bytes);
  }
  void end_pairs() {
    for (const auto& [where, sum] : sums_) {
      const auto [from, to, relay, crosses, levels] = where;
      Transfer& one = call_.transfers.emplace_back();
      one = {from, to, static_cast<std::int64_t>(sum.bytes / sum.count), crosses};
      one.out = sum.count / copies(from);
      one.in = sum.count / copies(to);
      one.levels = levels;
      one.relay = relay;
      if (relay >= 0) one.relayed = sum.count / copies(relay);
    }
  }

  struct Sum {
    double bytes = 0, count = 0;
  };

  const CallSituation& s_;
  const std::vector<int>& members_;
  const Folding& folding_;
  GroupCall& call_;
  /// By the classes from, to and of the relay, whether nodes differ, and levels.
  std::map<std::tuple<int, int, int, bool, int>, Sum> sums_;
};

}  // namespace

void count_bytes(const CallSituation& situation, const std::vector<int>& members,
                 const Folding& folding, GroupCall& call) {
  Counting(situation, members, folding, call).count();
}

}  // namespace tuner
