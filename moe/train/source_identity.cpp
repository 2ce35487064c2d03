#include "moe/train/source_identity.h"

#include <algorithm>
#include <vector>

namespace moe {
namespace {

constexpr std::int64_t kSamples = 64, kTokensOfSample = 4096;

/// FNV-1a.
std::uint64_t mixed_in(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x100000001b3ULL;
}

}  // namespace

std::uint64_t identity_of(const Source& source, std::int64_t vocabulary) {
  std::uint64_t hash = mixed_in(0xcbf29ce484222325ULL, static_cast<std::uint64_t>(source.tokens));
  std::vector<std::int32_t> tokens;
  const std::int64_t most =
      std::max<std::int64_t>(kSamples / static_cast<std::int64_t>(source.parts.size()), 2);
  for (const Source::Part& part : source.parts) {
    // Evenly spread: the first begins and the last ends the file.
    const std::int64_t all = part.file.tokens, length = std::min(all, kTokensOfSample);
    const std::int64_t samples = std::min(most, (all + length - 1) / length);
    for (std::int64_t i = 0; i < samples; ++i) {
      const std::int64_t first = samples == 1 ? 0 : (all - length) / (samples - 1) * i;
      tokens.resize(static_cast<std::size_t>(length));
      read_tokens(part.file, i + 1 == samples ? all - length : first, tokens, vocabulary);
      for (const std::int32_t token : tokens) {
        hash = mixed_in(hash, static_cast<std::uint32_t>(token));
      }
    }
  }
  return std::max<std::uint64_t>(hash, 1);
}

}  // namespace moe
