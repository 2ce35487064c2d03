#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

/// Links of a paced box (experiments/cluster-in-a-box --paced): its nodes are ranks of one
/// machine, and the senders themselves see to it that messages between nodes arrive no sooner than
/// through network cards of a given rate. Every node has a card, and a card sends and receives at
/// that rate at the same time. What passes through it shares it, whichever process sends it.
namespace moe {

/// The paced box that this process runs in, as its environment says.
struct PacedBox {
  std::string folder;           ///< a folder that its processes share
  int node = 0;                 ///< the node of this process
  double card_bytes_per_s = 0;  ///< the rate of each card, in each direction
  /// The rate of the link that each rank has to the others of its node, in each direction; 0 where
  /// nothing slows messages inside a node down.
  double intra_bytes_per_s = 0;
};
/// None outside of a paced box. Throws InputError where the variables make no sense.
std::optional<PacedBox> paced_box();

/// One direction of a link: until when it is taken, in nanoseconds of the steady clock. It lies in
/// memory that the ranks of a machine share.
using LinkClock = std::atomic<std::int64_t>;

/// Takes a link for duration_s, from the moment when it is free but not before from_s. Returns when
/// this begins.
double take_link(LinkClock& link, double from_s, double duration_s);

/// A link that was idle makes up for at most so many bytes, as the token buckets of the box do. So
/// the pauses of ranks that wake a little late cost no bandwidth.
inline constexpr std::int64_t kBucketBytes = 40960;

/// How messages go from one rank to another: out through one link and in through another one, both
/// of the same rate. A message enters the second link as soon as its first byte has left the first.
/// Times are in seconds of the steady clock.
struct PacedRoute {
  LinkClock* out = nullptr;
  LinkClock* in = nullptr;
  double bytes_per_s = 0;

  double duration_s(std::int64_t bytes) const { return static_cast<double>(bytes) / bytes_per_s; }
  /// Sends this many bytes. Returns when the first of them leaves.
  double leave(std::int64_t bytes, double now_s) const;
  /// Receives these bytes, once the first of them has left. Returns when the last of them arrives.
  double arrive(std::int64_t bytes, double left_s) const;
};

/// The links of a paced box. Every process that opens the box's file sees the same ones.
class PacedLinks {
 public:
  /// Throws std::system_error where the file cannot be opened or mapped.
  explicit PacedLinks(PacedBox box);
  ~PacedLinks();
  PacedLinks(const PacedLinks&) = delete;
  PacedLinks& operator=(const PacedLinks&) = delete;

  struct End {
    int rank = 0, node = 0;
  };
  /// None where messages between the two need no pace. Throws InputError where the file has no
  /// place for so many nodes and ranks.
  std::optional<PacedRoute> route(End from, End to) const;
  const PacedBox& box() const { return box_; }

 private:
  LinkClock* clock(int link, bool in) const;

  PacedBox box_;
  std::span<LinkClock> clocks_;
};

}  // namespace moe
