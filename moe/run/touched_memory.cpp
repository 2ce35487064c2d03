#include "moe/run/touched_memory.h"

#include <algorithm>
#include <span>
#include <vector>

namespace moe {
namespace {

constexpr std::int64_t kBlockBytes = 1 << 20;

/// The pattern. It differs from byte to byte, so that a tensor filled with one value never looks
/// like it.
class Pattern {
 public:
  /// Its bytes [begin, begin + size), which stay until the next call.
  std::span<const std::byte> at(std::int64_t begin, std::int64_t size) {
    constexpr std::int64_t kWordBytes = sizeof(std::uint64_t);
    const std::int64_t first = begin / kWordBytes, last = (begin + size - 1) / kWordBytes;
    words_.resize(static_cast<std::size_t>(last - first + 1));
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i] = (static_cast<std::uint64_t>(first) + i + 1) * 0x9e3779b97f4a7c15;
    }
    return std::as_bytes(std::span(words_))
        .subspan(static_cast<std::size_t>(begin % kWordBytes), static_cast<std::size_t>(size));
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace

TouchedMemory::TouchedMemory(Backend* backend, std::byte* arena, std::int64_t begin)
    : backend_(backend), arena_(arena), begin_(begin), laid_(begin) {}

void TouchedMemory::cover(std::int64_t end) {
  Pattern pattern;
  for (const std::int64_t target = end + kGuardBytes; laid_ < target;) {
    const std::int64_t size = std::min(kBlockBytes, target - laid_);
    const std::span<const std::byte> block = pattern.at(laid_, size);
    if (backend_ == nullptr) {
      std::ranges::copy(block, arena_ + laid_);
    } else {
      backend_->upload(arena_ + laid_, block, Stream::host);
    }
    laid_ += size;
  }
}

std::int64_t TouchedMemory::end_of_touched() const {
  Pattern pattern;
  std::vector<std::byte> block;
  for (std::int64_t end = laid_; end > begin_;) {
    const std::int64_t start = std::max(begin_, end - kBlockBytes);
    block.resize(static_cast<std::size_t>(end - start));
    if (backend_ == nullptr) {
      std::copy_n(arena_ + start, block.size(), block.begin());
    } else {
      backend_->download(block, arena_ + start, Stream::host);
    }
    const std::span<const std::byte> laid = pattern.at(start, end - start);
    for (std::size_t i = block.size(); i > 0; --i) {
      if (block[i - 1] != laid[i - 1]) return start + static_cast<std::int64_t>(i);
    }
    end = start;
  }
  return begin_;
}

}  // namespace moe
