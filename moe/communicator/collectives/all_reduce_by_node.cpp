#include <algorithm>
#include <memory>
#include <vector>

#include "moe/communicator/collectives/by_node.h"
#include "moe/communicator/collectives/reduce_fragments.h"
#include "moe/communicator/sum.h"

namespace moe {
namespace {

/// The exchange between nodes of this many fragments goes on while the next ones are begun.
constexpr int kFragmentsBetweenNodes = 2;

/// Messages [begin, end) of a step.
struct Step {
  int begin = 0, end = 0;
};

/// The four steps of an all-reduce, for one fragment each.
class AllReduceByNode {
 public:
  AllReduceByNode(Group& group, const collective::AllReduce& c, const CallContext& call)
      : nodes_(group.nodes),
        here_(nodes_.members[nodes_.node[group.rank]]),
        place_(nodes_.place[group.rank]),
        node_(nodes_.node[group.rank]),
        slices_(nodes_.fewest()),
        adders_(nodes_.count() == 2 ? 1 : nodes_.count()),
        dtype_(c.dtype),
        element_(bytes_of(c.dtype)),
        base_(static_cast<std::byte*>(c.to)),
        shares_(c.count, slices_ * adders_, group.size(), c.dtype),
        largest_slice_bytes_(adders_ * shares_.largest_share() * element_),
        parts_(std::max(here_.size(), nodes_.members.size())),
        scratch_(reduce_scratch(
            group, kReduceFragmentsUnderWay * 2 * std::ssize(parts_) * largest_slice_bytes_)),
        messages_(group.messages(call, c.name)) {}

  void run() {
    const std::int64_t fragments = shares_.fragments();
    constexpr std::int64_t lag = kFragmentsBetweenNodes;
    static_assert(lag < kReduceFragmentsUnderWay);  // or fragments would share scratch
    std::vector<Step> inside(fragments), sums(fragments), results(fragments);
    const auto is_fragment = [&](std::int64_t f) { return f >= 0 && f < fragments; };
    for (std::int64_t f = 0; f < shares_.under_way(); ++f) inside[f] = gather_inside(f);
    for (std::int64_t f = 0; f < fragments + 2 * lag; ++f) {
      if (is_fragment(f)) {
        // Sends too, here and below: results arrive where these bytes were sent from.
        wait(inside[f]);
        add_inside(f);
        sums[f] = exchange_sums(f);
        if (is_fragment(f + kReduceFragmentsUnderWay)) {
          inside[f + kReduceFragmentsUnderWay] = gather_inside(f + kReduceFragmentsUnderWay);
        }
      }
      if (is_fragment(f - lag)) {
        wait(sums[f - lag]);
        add_between(f - lag);
        results[f - lag] = exchange_results(f - lag);
      }
      if (is_fragment(f - 2 * lag)) {
        wait(results[f - 2 * lag]);
        pass_on(f - 2 * lag);
      }
    }
    messages_->wait_all();
  }

 private:
  bool has_slice() const { return place_ < slices_; }
  void wait(const Step& step) { messages_->wait(step.begin, step.end); }

  SharedSum::Share slice(std::int64_t f, int place) const {
    const SharedSum::Share first = shares_.share(f, place * adders_);
    const SharedSum::Share last = shares_.share(f, place * adders_ + adders_ - 1);
    return {first.begin, last.begin + last.count - first.begin};
  }
  /// What this node adds of the slice of this rank: all of it where there are two nodes.
  SharedSum::Share share(std::int64_t f, int node) const {
    return shares_.share(f, place_ * adders_ + (adders_ == 1 ? 0 : node));
  }
  std::byte* at(const SharedSum::Share& share) { return base_ + share.begin * element_; }
  /// Where the part arrives that a member of this node, or a node, has of the slice.
  std::byte* received(std::int64_t f, bool between, std::size_t from) {
    const std::int64_t slot =
        (f % kReduceFragmentsUnderWay * 2 + (between ? 1 : 0)) * std::ssize(parts_) +
        static_cast<std::int64_t>(from);
    return scratch_ + slot * largest_slice_bytes_;
  }

  /// Every member sends each slice to the member that has it.
  Step gather_inside(std::int64_t f) {
    const int begin = messages_->posted();
    for (std::size_t i = 0; i < here_.size() && has_slice(); ++i) {
      if (static_cast<int>(i) == place_) continue;
      messages_->receive(received(f, false, i), slice(f, place_).count * element_, here_[i]);
    }
    for (int step = 1; step <= slices_; ++step) {
      const int to = (place_ + step) % slices_;
      if (to == place_) continue;
      messages_->send(at(slice(f, to)), slice(f, to).count * element_, here_[to]);
    }
    return {begin, messages_->posted()};
  }

  void add_inside(std::int64_t f) {
    if (!has_slice()) return;
    for (std::size_t i = 0; i < here_.size(); ++i) parts_[i] = received(f, false, i);
    const SharedSum::Share own = slice(f, place_);
    parts_[place_] = at(own);
    sum_in_order(std::span(parts_).first(here_.size()), at(own), own.count, dtype_);
  }

  /// Calls `body` with each other node and its member of this place: the next node first, so that
  /// no node is everybody's first.
  template <typename Body>
  void for_other_nodes(const Body& body) {
    for (int step = 1; step < nodes_.count() && has_slice(); ++step) {
      const int node = (node_ + step) % nodes_.count();
      body(node, nodes_.members[node][place_]);
    }
  }

  Step exchange_sums(std::int64_t f) {
    const int begin = messages_->posted();
    for_other_nodes([&](int node, int member) {
      messages_->receive(received(f, true, node), share(f, node_).count * element_, member);
    });
    for_other_nodes([&](int node, int member) {
      messages_->send(at(share(f, node)), share(f, node).count * element_, member);
    });
    return {begin, messages_->posted()};
  }

  void add_between(std::int64_t f) {
    if (!has_slice()) return;
    for (int node = 0; node < nodes_.count(); ++node) parts_[node] = received(f, true, node);
    const SharedSum::Share own = share(f, node_);
    parts_[node_] = at(own);
    sum_in_order(std::span(parts_).first(nodes_.members.size()), at(own), own.count, dtype_);
  }

  Step exchange_results(std::int64_t f) {
    const int begin = messages_->posted();
    if (adders_ > 1) {
      for_other_nodes([&](int node, int member) {
        messages_->receive(at(share(f, node)), share(f, node).count * element_, member,
                           Channel::result);
      });
      for_other_nodes([&](int, int member) {
        messages_->send(at(share(f, node_)), share(f, node_).count * element_, member,
                        Channel::result);
      });
    }
    return {begin, messages_->posted()};
  }

  void pass_on(std::int64_t f) {
    for (int from = 0; from < slices_; ++from) {
      if (from == place_) continue;
      messages_->receive(at(slice(f, from)), slice(f, from).count * element_, here_[from],
                         Channel::result);
    }
    for (std::size_t i = 0; i < here_.size() && has_slice(); ++i) {
      if (static_cast<int>(i) == place_) continue;
      messages_->send(at(slice(f, place_)), slice(f, place_).count * element_, here_[i],
                      Channel::result);
    }
  }

  const GroupNodes& nodes_;
  const std::vector<int>& here_;  ///< the members of this node
  const int place_, node_;        ///< this rank's place in its node, and the node
  const int slices_;              ///< how many slices a fragment has
  const int adders_;              ///< how many nodes share the adding of a slice
  const DType dtype_;
  const std::int64_t element_;
  std::byte* const base_;
  const SharedSum shares_;
  const std::int64_t largest_slice_bytes_;
  std::vector<const void*> parts_;
  std::byte* const scratch_;
  std::unique_ptr<Messages> messages_;
};

}  // namespace

void all_reduce_by_node(Group& group, const collective::AllReduce& c, const CallContext& call) {
  AllReduceByNode(group, c, call).run();
}

}  // namespace moe
