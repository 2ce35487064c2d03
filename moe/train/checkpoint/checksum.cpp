#include "moe/train/checkpoint/checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "moe/kernels/counter_random.h"

namespace moe {

std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = bytes.size();
  for (std::size_t begin = 0; begin < bytes.size(); begin += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + begin, std::min(sizeof word, bytes.size() - begin));
    hash = mix(hash ^ word);
  }
  return hash;
}

std::string checksum_text(std::uint64_t checksum) { return fmt::format("{:016x}", checksum); }

std::string checksum_of_text(std::string_view text) {
  return checksum_text(checksum(std::as_bytes(std::span(text))));
}

}  // namespace moe
