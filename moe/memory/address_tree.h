#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "moe/kernels/counter_random.h"

namespace moe {

/// A search tree of address ranges that do not overlap. Every subtree has a summary, so that the
/// lowest range with some property is found in logarithmic time where the summary tells whether a
/// subtree contains one. Balanced by random priorities.  [Seidel and Aragon 1996, "Randomized
/// Search Trees"]
///
/// `Range` has a member `begin`; `Summary` is made of a Range, and has include(const Summary&).
template <class Range, class Summary>
class AddressTree {
 public:
  void insert(const Range& range) {
    if (unused_.empty()) {
      unused_.push_back(static_cast<int>(nodes_.size()));
      nodes_.push_back({range, Summary(range)});
    }
    const int node = unused_.back();
    unused_.pop_back();
    at(node) = {range, Summary(range), mix(++drawn_)};
    const Halves halves = split(root_, range.begin);
    root_ = join(join(halves.below, node), halves.rest);
  }

  /// Removes the range that begins at `begin`.
  void erase(std::int64_t begin) {
    const Halves low = split(root_, begin), high = split(low.rest, begin + 1);
    unused_.push_back(high.below);
    root_ = join(low.below, high.rest);
  }

  /// The lowest range that begins at `from` or after and for which `is(range)` holds.
  /// `may(summary)` is false where no range of the subtree can have that property.
  template <class May, class Is>
  std::optional<Range> first(std::int64_t from, const May& may, const Is& is) const {
    return first(root_, from, may, is);
  }

  /// The last range that begins at `address` or before.
  std::optional<Range> last_until(std::int64_t address) const {
    std::optional<Range> last;
    for (int node = root_; node >= 0;) {
      const bool until = at(node).range.begin <= address;
      if (until) last = at(node).range;
      node = until ? at(node).right : at(node).left;
    }
    return last;
  }

  void clear() {
    nodes_.clear();
    unused_.clear();
    root_ = -1;
  }

 private:
  struct Node {
    Range range;
    Summary summary;  ///< the summary of the subtree
    std::uint64_t priority = 0;
    int left = -1, right = -1;
  };
  /// The ranges that begin below an address, and the rest.
  struct Halves {
    int below = -1, rest = -1;
  };

  Node& at(int node) { return nodes_[node]; }
  const Node& at(int node) const { return nodes_[node]; }

  void summarize(int node) {
    Node& n = at(node);
    n.summary = Summary(n.range);
    for (const int child : {n.left, n.right}) {
      if (child >= 0) n.summary.include(at(child).summary);
    }
  }

  Halves split(int node, std::int64_t address) {
    if (node < 0) return {};
    Halves halves;
    if (at(node).range.begin < address) {
      halves = split(at(node).right, address);
      at(node).right = halves.below;
      halves.below = node;
    } else {
      halves = split(at(node).left, address);
      at(node).left = halves.rest;
      halves.rest = node;
    }
    summarize(node);
    return halves;
  }

  int join(int below, int rest) {
    if (below < 0) return rest;
    if (rest < 0) return below;
    const bool below_is_root = at(below).priority > at(rest).priority;
    const int root = below_is_root ? below : rest;
    if (below_is_root) {
      at(root).right = join(at(root).right, rest);
    } else {
      at(root).left = join(below, at(root).left);
    }
    summarize(root);
    return root;
  }

  template <class May, class Is>
  std::optional<Range> first(int node, std::int64_t from, const May& may, const Is& is) const {
    if (node < 0 || !may(at(node).summary)) return std::nullopt;
    const Node& n = at(node);
    if (n.range.begin >= from) {
      if (const auto before = first(n.left, from, may, is)) return before;
      if (is(n.range)) return n.range;
    }
    return first(n.right, from, may, is);
  }

  std::vector<Node> nodes_;
  std::vector<int> unused_;  ///< indices of free nodes
  int root_ = -1;
  std::uint64_t drawn_ = 0;
};

}  // namespace moe
