#include "moe/run/touched_memory.h"

#include <fmt/format.h>

#include <stdexcept>

#include "moe/kernels/pattern.h"

namespace moe {

TouchedMemory::TouchedMemory(Backend& backend, std::byte* arena, std::int64_t begin)
    : backend_(&backend), arena_(arena), begin_(begin), laid_(begin) {
  if (begin % kPatternWord == 0) return;
  throw std::invalid_argument(fmt::format(
      "touched memory: it begins at byte {}: expected a multiple of {}", begin, kPatternWord));
}

void TouchedMemory::cover(std::int64_t end) {
  const std::int64_t target = (end + kGuardBytes) / kPatternWord * kPatternWord;
  if (target <= laid_) return;
  backend_->lay_pattern(arena_, laid_, target);
  laid_ = target;
}

std::int64_t TouchedMemory::end_of_touched() const {
  return backend_->end_of_pattern(arena_, begin_, laid_);
}

}  // namespace moe
