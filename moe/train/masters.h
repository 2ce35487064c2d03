#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

/// The masters of parameters in bf16, outside the memory of a rank: there a parameter and its
/// remainder stand for them (Parameter::remainder).
namespace moe {

/// The masters, f32, that values in bf16 and their remainders make.
std::vector<std::byte> masters_of(std::span<const std::byte> values,
                                  std::span<const std::byte> remainders);

/// The masters of values in bf16 that are not rounded.
std::vector<std::byte> masters_of(std::span<const std::byte> values);

/// The remainders of masters.
std::vector<std::byte> remainders_of(std::span<const std::byte> masters);

/// The place of the first value that is not its master rounded; none where all are.
std::optional<std::size_t> first_not_rounded(std::span<const std::byte> values,
                                             std::span<const std::byte> masters);

}  // namespace moe
