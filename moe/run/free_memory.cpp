#include "moe/run/free_memory.h"

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
  pieces_.clear();
  holes_.insert({begin, kEnd});
  pieces_.insert({begin, kEnd, {}});
}

std::optional<std::int64_t> FreeMemory::place_in(Hole hole, std::int64_t bytes,
                                                 const StreamProgress& known) const {
  std::int64_t begin = hole.begin;
  while (hole.end - begin >= bytes) {
    const auto touched = pieces_.first(
        begin, [&](const Untils& all) { return !has_come(known, all.most); },
        [&](const Piece& piece) { return !has_come(known, piece.until); });
    if (!touched || touched->begin - begin >= bytes) return begin;
    const auto usable = pieces_.first(
        touched->end, [&](const Untils& all) { return has_come(known, all.least); },
        [&](const Piece& piece) { return has_come(known, piece.until); });
    if (!usable) break;
    begin = usable->begin;
  }
  return std::nullopt;
}

std::int64_t FreeMemory::take(std::int64_t bytes, const StreamProgress& known) {
  std::int64_t from = 0;
  const auto is_large_enough = [&](const Hole& hole) { return hole.end - hole.begin >= bytes; };
  const auto has_large_enough = [&](const LargestHole& largest) { return largest.bytes >= bytes; };
  while (const auto hole = holes_.first(from, has_large_enough, is_large_enough)) {
    const auto begin = place_in(*hole, bytes, known);
    if (!begin) {
      from = hole->end;
      continue;
    }
    const std::int64_t end = *begin + bytes;
    holes_.erase(hole->begin);
    if (hole->begin < *begin) holes_.insert({hole->begin, *begin});
    if (end < hole->end) holes_.insert({end, hole->end});
    take_pieces(*begin, end);
    return *begin;
  }
  throw std::overflow_error("memory plan: no address is left");
}

void FreeMemory::give_back(std::int64_t begin, std::int64_t end, const StreamProgress& until) {
  pieces_.insert({begin, end, until});
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

/// Who comes behind the new owner comes behind all that touched them before.
void FreeMemory::take_pieces(std::int64_t begin, std::int64_t end) {
  while (begin < end) {
    Piece piece = pieces_.last_until(begin).value();  // begins there, as what is taken does
    pieces_.erase(piece.begin);
    begin = piece.end;
    if (begin <= end) continue;
    piece.begin = end;
    pieces_.insert(piece);
  }
}

}  // namespace moe
