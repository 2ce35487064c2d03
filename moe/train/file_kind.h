#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace moe {

/// What the first bytes of a file say that it is.
enum class FileKind : std::uint8_t {
  plain,       ///< text, or tokens where its name ends in `.bin`
  npy,         ///< an array of NumPy
  gzip,        ///< one of the others, packed
  json_lines,  ///< an object of JSON in every line, or so it is called; never a `.bin`
};

/// Of a file of these bytes. `name` is without `.gz` where they are unpacked already. Throws
/// InputError with `path` and a way out for what nothing here reads: archives, tables, pickles,
/// other packers, UTF-16, a JSON document of several lines, a tokenizer, a pointer of Git LFS, a
/// file that does not begin as its name says, and any other file with a byte 0 among its first
/// 64 KiB that is not named `.bin`.
FileKind kind_of(const std::filesystem::path& path, const std::filesystem::path& name,
                 std::span<const std::byte> bytes);

}  // namespace moe
