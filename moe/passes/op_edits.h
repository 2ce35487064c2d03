#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "moe/program/op.h"

namespace moe {

/// Changes of a list of ops that are made all at once, so that the places of ops hold until then
/// and many changes take the time of one. A place is an index of the list as it was; others throw
/// std::out_of_range.
class OpEdits {
 public:
  explicit OpEdits(std::vector<Op>& ops) : ops_(ops), taken_(ops.size()) {}

  /// Moves the op at `place` out of the list.
  Op take(std::size_t place);
  bool is_taken(std::size_t place) const { return taken_[place]; }
  /// Puts ops right before the op at `place`, behind those that were put there earlier; at the end of
  /// the list where `place` is its size.
  void put_before(std::size_t place, std::vector<Op> ops);
  /// Puts ops right behind the op at `place`, before those that were put there earlier.
  void put_behind(std::size_t place, std::vector<Op> ops);
  /// Makes the changes.
  void make();

 private:
  std::vector<Op>& ops_;
  std::vector<bool> taken_;
  std::map<std::size_t, std::vector<Op>> before_, behind_;
};

}  // namespace moe
