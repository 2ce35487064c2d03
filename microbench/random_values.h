#pragma once

#include <cstdint>

#include "moe/backend/backend.h"

namespace microbench {

/// Fills a matrix in the backend's arena with standard normal numbers, the same in every run and on
/// every rank and backend; `which` tells operands apart. Numbers that switch few bits, as small
/// integers do, cost a GPU less power, so that it runs faster than training ever lets it.
void fill_random(moe::Backend& backend, const moe::View& matrix, std::uint64_t which);

/// Fills it with one number.
void fill_constant(moe::Backend& backend, const moe::View& matrix, double number);

}  // namespace microbench
