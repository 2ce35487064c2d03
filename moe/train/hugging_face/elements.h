#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

#include "moe/train/checkpoint/safetensors.h"

namespace moe {

/// The elements of a tensor of type F64, F32, BF16 or F16. Throws InputError with file and tensor
/// for another type.
std::vector<double> elements_of(const StoredTensor& tensor, const std::filesystem::path& file);

/// Elements as F64, F32 or BF16 stores them, rounded to the nearest.
std::vector<std::byte> stored_as(std::string_view dtype, const std::vector<double>& elements);

}  // namespace moe
