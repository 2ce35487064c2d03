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

/// The hash of a text of so many tokens, before any of them.
std::uint64_t begin_of(std::int64_t tokens) {
  return mixed_in(0xcbf29ce484222325ULL, static_cast<std::uint64_t>(tokens));
}

/// Mixes in at most so many samples of a file, evenly spread: the first begins and the last ends it.
std::uint64_t mixed_in(std::uint64_t hash, const TokenFile& file, std::int64_t most,
                       std::int64_t vocabulary) {
  const std::int64_t all = file.tokens, length = std::min(all, kTokensOfSample);
  const std::int64_t samples = std::min(most, (all + length - 1) / length);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t first = samples == 1 ? 0 : (all - length) / (samples - 1) * i;
    read_tokens(file, i + 1 == samples ? all - length : first, tokens, vocabulary);
    for (const std::int32_t token : tokens) {
      hash = mixed_in(hash, static_cast<std::uint32_t>(token));
    }
  }
  return hash;
}

}  // namespace

std::uint64_t identity_of(const Source& source, std::int64_t vocabulary) {
  std::uint64_t hash = begin_of(source.tokens);
  const std::int64_t most =
      std::max<std::int64_t>(kSamples / static_cast<std::int64_t>(source.parts.size()), 2);
  for (const Source::Part& part : source.parts) {
    hash = mixed_in(hash, part.file, most, vocabulary);
  }
  return std::max<std::uint64_t>(hash, 1);
}

std::uint64_t identity_of(const TokenFile& file, std::int64_t vocabulary) {
  return std::max<std::uint64_t>(mixed_in(begin_of(file.tokens), file, kSamples, vocabulary), 1);
}

}  // namespace moe
