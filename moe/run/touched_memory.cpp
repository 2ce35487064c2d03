#include "moe/run/touched_memory.h"

#include <algorithm>
#include <vector>

namespace moe {
namespace {

constexpr std::int64_t kBlockBytes = 1 << 20;

/// The pattern differs from byte to byte, so that a tensor filled with one value never looks like
/// it.
std::byte pattern_at(std::int64_t offset) {
  const auto hash = static_cast<std::uint64_t>(offset) * 0x9e3779b97f4a7c15;
  return static_cast<std::byte>(hash >> 56);
}

}  // namespace

TouchedMemory::TouchedMemory(Backend* backend, std::byte* arena, std::int64_t begin)
    : backend_(backend), arena_(arena), begin_(begin), laid_(begin) {}

void TouchedMemory::cover(std::int64_t end) {
  std::vector<std::byte> block;
  for (const std::int64_t target = end + kGuardBytes; laid_ < target;) {
    block.resize(static_cast<std::size_t>(std::min(kBlockBytes, target - laid_)));
    for (std::size_t i = 0; i < block.size(); ++i) {
      block[i] = pattern_at(laid_ + static_cast<std::int64_t>(i));
    }
    if (backend_ == nullptr) {
      std::copy(block.begin(), block.end(), arena_ + laid_);
    } else {
      backend_->upload(arena_ + laid_, block, Stream::host);
    }
    laid_ += static_cast<std::int64_t>(block.size());
  }
}

std::int64_t TouchedMemory::end_of_touched() const {
  std::vector<std::byte> block;
  for (std::int64_t end = laid_; end > begin_;) {
    const std::int64_t start = std::max(begin_, end - kBlockBytes);
    block.resize(static_cast<std::size_t>(end - start));
    if (backend_ == nullptr) {
      std::copy_n(arena_ + start, block.size(), block.begin());
    } else {
      backend_->download(block, arena_ + start, Stream::host);
    }
    for (std::int64_t at = end; at > start; --at) {
      if (block[at - 1 - start] != pattern_at(at - 1)) return at;
    }
    end = start;
  }
  return begin_;
}

}  // namespace moe
