#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace moe {

/// A hash of 64 bits. It changes with every change within 8 bytes, and with nearly all others. (a
/// chain of SplitMix64)
std::uint64_t checksum(std::span<const std::byte> bytes);

/// The same of bytes that come in pieces, however they are cut.
class PiecewiseChecksum {
 public:
  /// `bytes`: how many there will be.
  explicit PiecewiseChecksum(std::size_t bytes) : hash_(bytes) {}
  void add(std::span<const std::byte> piece);
  std::uint64_t value() const;

 private:
  std::uint64_t hash_;
  std::uint64_t word_ = 0;  ///< the bytes after the last whole word
  std::size_t in_word_ = 0;
};

/// "00f3c2d1a0b9e847"
std::string checksum_text(std::uint64_t checksum);
/// That of the bytes of a text.
std::string checksum_of_text(std::string_view text);

}  // namespace moe
