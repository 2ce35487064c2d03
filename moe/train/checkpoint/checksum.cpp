#include "moe/train/checkpoint/checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "moe/kernels/counter_random.h"

namespace moe {

void PiecewiseChecksum::add(std::span<const std::byte> piece) {
  while (!piece.empty()) {
    for (; in_word_ == 0 && piece.size() >= sizeof word_; piece = piece.subspan(sizeof word_)) {
      std::uint64_t word;
      std::memcpy(&word, piece.data(), sizeof word);
      hash_ = mix(hash_ ^ word);
    }
    const std::size_t taken = std::min(sizeof word_ - in_word_, piece.size());
    std::memcpy(reinterpret_cast<std::byte*>(&word_) + in_word_, piece.data(), taken);
    piece = piece.subspan(taken);
    in_word_ += taken;
    if (in_word_ < sizeof word_) return;  // also where nothing was left
    hash_ = mix(hash_ ^ word_);
    word_ = 0;
    in_word_ = 0;
  }
}

std::uint64_t PiecewiseChecksum::value() const {
  return in_word_ == 0 ? hash_ : mix(hash_ ^ word_);
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  PiecewiseChecksum sum(bytes.size());
  sum.add(bytes);
  return sum.value();
}

std::string checksum_text(std::uint64_t checksum) { return fmt::format("{:016x}", checksum); }

std::string checksum_of_text(std::string_view text) {
  return checksum_text(checksum(std::as_bytes(std::span(text))));
}

}  // namespace moe
