#pragma once

#include <cstdint>

#include "moe/memory/address_tree.h"
#include "moe/program/start_rule.h"

namespace moe {

/// Addresses from one on, without end: what is given out, lowest first, and of what has been given back how far
/// streams must have come until nobody touches it any more.
class FreeMemory {
 public:
  explicit FreeMemory(std::int64_t begin) { restart(begin); }
  /// All free, from `begin` on.
  void restart(std::int64_t begin);

  /// Takes the lowest `bytes` that nobody touches once streams have come as far as `known`; returns where they
  /// begin. Logarithmic, for every time that memory which others touch alternates with holes that are too small.
  std::int64_t take(std::int64_t bytes, const StreamProgress& known);
  /// [begin, end) was taken, and is free once streams have come as far as `until`.
  void give_back(std::int64_t begin, std::int64_t end, const StreamProgress& until);

 private:
  /// Free memory between what is in use.
  struct Hole {
    std::int64_t begin = 0, end = 0;
  };
  struct LargestHole {
    explicit LargestHole(const Hole& hole) : bytes(hole.end - hole.begin) {}
    void include(const LargestHole& other);
    std::int64_t bytes;
  };
  /// Of a hole, what was given back together.
  struct Piece {
    std::int64_t begin = 0, end = 0;
    StreamProgress until{};
  };
  struct Untils {
    explicit Untils(const Piece& piece) : least(piece.until), most(piece.until) {}
    void include(const Untils& other);
    StreamProgress least, most;  ///< stream by stream
  };

  void take_from(Hole hole, std::int64_t begin, std::int64_t end);

  AddressTree<Hole, LargestHole> holes_;
  AddressTree<Piece, Untils> pieces_;  ///< which the holes consist of
};

}  // namespace moe
