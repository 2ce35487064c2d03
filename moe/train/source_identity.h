#pragma once

#include <cstdint>

#include "moe/train/data.h"

namespace moe {

/// A number that says which text a source is, wherever its files lie and whatever they are called:
/// a hash of its length and of samples of its tokens. Never 0.
/// Throws as read_batch() does.
std::uint64_t identity_of(const Source& source, std::int64_t vocabulary);
/// That of a source of this file alone.
std::uint64_t identity_of(const TokenFile& file, std::int64_t vocabulary);

}  // namespace moe
