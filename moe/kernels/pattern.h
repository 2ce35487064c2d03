#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "moe/kernels/device.h"

/// The pattern that shows how far memory was written to (run/touched_memory.h), laid and looked for
/// where the memory is. Places are bytes of an arena and multiples of kPatternWord.
namespace moe {

inline constexpr std::int64_t kPatternWord = sizeof(std::uint64_t);
/// The words that one team looks through.
inline constexpr std::int64_t kPatternChunk = 4096;

/// It differs from byte to byte, so that a tensor filled with one value never looks like it.
MOE_BODY std::uint64_t pattern_word(std::int64_t place) {
  return (static_cast<std::uint64_t>(place) + 1) * 0x9e3779b97f4a7c15;
}

struct LayPatternBody {
  std::uint64_t* words;  ///< of the arena
  std::int64_t first;
  MOE_BODY void operator()(std::int64_t i) const { words[first + i] = pattern_word(first + i); }
};

/// ends[chunk]: one past the highest byte of the chunk that does not hold the pattern; 0 where all
/// do. Bytes of a word are little-endian. A team per chunk.
struct FindPatternEndBody {
  static constexpr bool kWideRows = true;
  const std::uint64_t* words;
  std::int64_t first, last;
  int* ends;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t chunk) const {
    const std::int64_t begin = first + chunk * kPatternChunk;
    const std::int64_t left = last - begin;
    const std::uint64_t* const from = words + begin;
    const int end = team.max(left < kPatternChunk ? left : kPatternChunk, [=](std::int64_t i) {
      int bytes = 0;
      for (std::uint64_t other = from[i] ^ pattern_word(begin + i); other != 0; other >>= 8) {
        ++bytes;
      }
      return bytes == 0 ? 0 : static_cast<int>(i * kPatternWord) + bytes;
    });
    if (team.leader()) ends[chunk] = end;
  }
};

/// Lays the pattern on bytes [begin, end) of the arena.
template <class Exec>
void lay_pattern_by(Exec& exec, std::byte* arena, std::int64_t begin, std::int64_t end) {
  exec.elements((end - begin) / kPatternWord,
                LayPatternBody{reinterpret_cast<std::uint64_t*>(arena), begin / kPatternWord});
}

constexpr std::int64_t pattern_chunks(std::int64_t bytes) {
  constexpr std::int64_t kChunkBytes = kPatternChunk * kPatternWord;
  return (bytes + kChunkBytes - 1) / kChunkBytes;
}

/// Fills `ends`, one for each of the pattern_chunks() of bytes [begin, end) of the arena.
template <class Exec>
void find_pattern_ends(Exec& exec, const std::byte* arena, std::int64_t begin, std::int64_t end,
                       int* ends) {
  const FindPatternEndBody body{reinterpret_cast<const std::uint64_t*>(arena), begin / kPatternWord,
                                end / kPatternWord, ends};
  exec.rows(pattern_chunks(end - begin), kPatternChunk, body);
}

/// One past the highest byte that does not hold the pattern, of chunks from `begin` on; `begin`
/// where all do.
inline std::int64_t pattern_end(std::int64_t begin, std::span<const int> ends) {
  for (std::size_t chunk = ends.size(); chunk-- > 0;) {
    if (ends[chunk] == 0) continue;
    return begin + static_cast<std::int64_t>(chunk) * kPatternChunk * kPatternWord + ends[chunk];
  }
  return begin;
}

}  // namespace moe
