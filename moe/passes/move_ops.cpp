#include "moe/passes/move_ops.h"

#include <algorithm>
#include <utility>

namespace moe {
namespace {

/// True where the two may not change places.
bool depend(const Program& program, const Op& a, const Op& b) {
  const auto share = [&](const std::vector<Use>& some, const std::vector<Use>& others) {
    return std::any_of(some.begin(), some.end(), [&](const Use& use) {
      return std::any_of(others.begin(), others.end(), [&](const Use& other) {
        return use.tensor == other.tensor &&
               meet(program.tensors[use.tensor], use.slice, other.slice);
      });
    });
  };
  return share(a.writes, b.writes) || share(a.writes, b.reads) || share(a.reads, b.writes);
}

}  // namespace

std::optional<std::size_t> refusing_op(const Program& program,
                                       const std::vector<std::size_t>& moved, std::size_t target) {
  const std::size_t first = std::min(moved.front(), target + 1);
  const std::size_t end = std::max(moved.back(), target + 1);
  for (std::size_t i = first; i < end; ++i) {
    if (std::find(moved.begin(), moved.end(), i) != moved.end()) continue;
    for (const std::size_t one : moved) {
      const bool change_places = i <= target ? one < i : one > i;
      if (change_places && depend(program, program.ops[one], program.ops[i])) return i;
    }
  }
  return std::nullopt;
}

PlacesAfter allowed_places(const Program& program, const std::vector<std::size_t>& moved) {
  PlacesAfter places{0, program.ops.size()};
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (std::find(moved.begin(), moved.end(), i) != moved.end()) continue;
    for (const std::size_t one : moved) {
      if (!depend(program, program.ops[one], program.ops[i])) continue;
      if (i < one) places.first = std::max(places.first, i);
      if (i > one) places.end = std::min(places.end, i);
    }
  }
  return places;
}

Program moved_behind(Program program, const std::vector<std::size_t>& moved, std::size_t target) {
  move_behind(program.ops, moved, target);
  return program;
}

}  // namespace moe
