#pragma once

#include <random>
#include <string>
#include <vector>

namespace fuzz {

using Random = std::mt19937_64;

/// One of `samples` after one to six random changes: of bytes (flipped, inserted, cut, doubled,
/// taken from another sample) and of values (numbers and texts replaced by awkward ones, lines
/// moved, nesting and keys made deep). At most 256 KiB.
std::string mutant(const std::vector<std::string>& samples, Random& random);

}  // namespace fuzz
