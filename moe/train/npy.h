#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "moe/train/token_file.h"

namespace moe {

/// Where an array of NumPy has its tokens.
struct NpyHeader {
  TokenType type = TokenType::uint16;
  std::size_t first_byte = 0;
  std::int64_t tokens = 0;
};

/// Reads the header of a `.npy`: "\x93NUMPY", its version (1.0, 2.0 or 3.0), its length, and a
/// dictionary of Python with descr, fortran_order and shape
/// (numpy.lib.format). Throws InputError with the file and the values for an array of more than one
/// dimension, of another type than uint8, uint16, uint32, int32 or int64, little endian, and for a
/// file that is cut short or longer than its shape says.
NpyHeader read_npy_header(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace moe
