#include "moe/memory/free_memory.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace moe {
namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

bool has_come(const StreamProgress& known, const StreamProgress& until) {
  return std::equal(known.begin(), known.end(), until.begin(),
                    [](int has, int must) { return has >= must; });
}

}  // namespace

void FreeMemory::LargestHole::include(const LargestHole& other) {
  bytes = std::max(bytes, other.bytes);
}

void FreeMemory::Untils::include(const Untils& other) {
  for (std::size_t s = 0; s < kStreamCount; ++s) {
    least[s] = std::min(least[s], other.least[s]);
    most[s] = std::max(most[s], other.most[s]);
  }
}

void FreeMemory::restart(std::int64_t begin) {
  holes_.clear();
  fragments_.clear();
  holes_.insert({begin, kEnd});
  fragments_.insert({begin, kEnd, {}});
}

std::int64_t FreeMemory::take(std::int64_t bytes, const StreamProgress& known) {
  const auto first_fragment = [&](std::int64_t from, bool usable) {
    return fragments_.first(
        from,
        [&](const Untils& all) {
          return usable ? has_come(known, all.least) : !has_come(known, all.most);
        },
        [&](const Fragment& fragment) { return has_come(known, fragment.until) == usable; });
  };
  // Passes over memory that is still in use, then over holes that are too small, each in one step,
  // until a hole fits.
  std::int64_t from = 0;
  while (const auto usable = first_fragment(from, true)) {
    const std::int64_t begin = usable->begin;
    const Hole hole = holes_.last_until(begin).value();  // the hole that it is in
    if (hole.end - begin < bytes) {
      const auto next = holes_.first(
          hole.end, [&](const LargestHole& largest) { return largest.bytes >= bytes; },
          [&](const Hole& other) { return other.end - other.begin >= bytes; });
      if (!next) break;
      from = next->begin;
      continue;
    }
    const auto touched = first_fragment(begin, false);
    const bool is_cut = touched && touched->begin < hole.end;
    if (is_cut && touched->begin - begin < bytes) {
      from = touched->end;
      continue;
    }
    take_from(hole, begin, begin + bytes);
    return begin;
  }
  throw std::overflow_error("memory plan: no address is left");
}

void FreeMemory::take_from(Hole hole, std::int64_t begin, std::int64_t end) {
  holes_.erase(hole.begin);
  if (hole.begin < begin) holes_.insert({hole.begin, begin});
  if (end < hole.end) holes_.insert({end, hole.end});
  // An op that runs after the new owner also runs after all earlier users of these fragments.
  while (begin < end) {
    Fragment fragment = fragments_.last_until(begin).value();  // begins at `begin` too
    fragments_.erase(fragment.begin);
    begin = fragment.end;
    if (begin <= end) continue;
    fragment.begin = end;
    fragments_.insert(fragment);
  }
}

void FreeMemory::give_back(std::int64_t begin, std::int64_t end, const StreamProgress& until) {
  fragments_.insert({begin, end, until});
  Hole hole{begin, end};
  if (const auto before = holes_.last_until(begin); before && before->end == begin) {
    hole.begin = before->begin;
    holes_.erase(before->begin);
  }
  if (const auto behind = holes_.last_until(end); behind && behind->begin == end) {
    hole.end = behind->end;
    holes_.erase(behind->begin);
  }
  holes_.insert(hole);
}

}  // namespace moe
