#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "moe/train/checkpoint/safetensors.h"

namespace moe {

/// True of F64, F32, BF16 and F16.
bool has_numbers(std::string_view dtype);
/// Reads elements [first, first + to.size()) of a tensor of type F64, F32, BF16 or F16. Throws
/// InputError with file and tensor for another type.
void read_elements(const StoredTensor& tensor, const std::filesystem::path& file, std::size_t first,
                   std::span<double> to);
/// All elements.
std::vector<double> elements_of(const StoredTensor& tensor, const std::filesystem::path& file);

/// Writes elements as F64, F32 or BF16 stores them, rounded to the nearest, into the first bytes of
/// `to`.
void store_elements(std::string_view dtype, std::span<const double> elements,
                    std::span<std::byte> to);
/// The same in bytes of their own.
std::vector<std::byte> stored_as(std::string_view dtype, const std::vector<double>& elements);

}  // namespace moe
