#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace moe {

/// The texts of a file that has an object of JSON in each line.
struct JsonLines {
  std::vector<std::byte> text;          ///< one after the other, each ended by a newline
  std::vector<std::int64_t> documents;  ///< [text]: its first byte
};

/// Takes the key "text" of every line; other keys, and lines and texts that are empty, are passed
/// over. Throws InputError with file and line for a line that is no such object, and where the
/// texts have more than kMostUnpackedBytes (gzip.h).
JsonLines read_json_lines(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace moe
