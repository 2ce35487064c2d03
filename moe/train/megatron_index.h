#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "moe/train/token_file.h"

namespace moe {

/// The `.idx` that Megatron-LM writes beside a `.bin` of tokens. Little endian: "MMIDIDX\0\0",
/// version 1 (uint64), the code of a type (uint8), the number of sequences and that of document
/// bounds (uint64 each), the tokens of every sequence (int32), the byte of the `.bin` at which it
/// begins (int64), and the sequences at which documents begin, with that after the last (int64).
struct MegatronIndex {
  TokenType type = TokenType::uint16;
  std::int64_t tokens = 0;
  std::vector<std::int64_t> documents;  ///< the first token of each, in order
};

/// None where there is no such file. Throws InputError for a file that is no such index, that is
/// cut short, whose tokens are of a type that no vocabulary has, or whose sequences do not follow
/// one another in the `.bin`. The error names the file, and the sequence or document at fault.
std::optional<MegatronIndex> read_megatron_index(const std::filesystem::path& path);

}  // namespace moe
