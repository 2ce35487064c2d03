#pragma once

#include <cstdint>

#include "moe/memory/address_tree.h"
#include "moe/program/start_rule.h"

namespace moe {

/// The free addresses of an arena without end. Memory is given out lowest first. Memory that is
/// given back says how far the streams must have come before it is free.
class FreeMemory {
 public:
  explicit FreeMemory(std::int64_t begin) { restart(begin); }
  /// Makes all memory from `begin` on free.
  void restart(std::int64_t begin);

  /// Takes the lowest `bytes` that are free once streams have come as far as `known`; returns where
  /// they begin. Takes logarithmic time for each change between memory that is still in use and
  /// holes that are too small.
  std::int64_t take(std::int64_t bytes, const StreamProgress& known);
  /// Gives back [begin, end), which was taken; it is free once streams have come as far as `until`.
  void give_back(std::int64_t begin, std::int64_t end, const StreamProgress& until);

 private:
  /// A range of memory that is not taken.
  struct Hole {
    std::int64_t begin = 0, end = 0;
  };
  struct LargestHole {
    explicit LargestHole(const Hole& hole) : bytes(hole.end - hole.begin) {}
    void include(const LargestHole& other);
    std::int64_t bytes;
  };
  /// The part of a hole that was given back at once.
  struct Fragment {
    std::int64_t begin = 0, end = 0;
    StreamProgress until{};
  };
  struct Untils {
    explicit Untils(const Fragment& fragment) : least(fragment.until), most(fragment.until) {}
    void include(const Untils& other);
    StreamProgress least, most;  ///< stream by stream
  };

  void take_from(Hole hole, std::int64_t begin, std::int64_t end);

  AddressTree<Hole, LargestHole> holes_;
  AddressTree<Fragment, Untils> fragments_;  ///< the fragments of the holes
};

}  // namespace moe
