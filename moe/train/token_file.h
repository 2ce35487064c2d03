#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <variant>
#include <vector>

#include "moe/train/mapped_file.h"

/// One file of tokens, in the formats of the field.
namespace moe {

enum class TokenType : std::uint8_t { uint8, uint16, uint32, int32, int64 };

int bytes_of(TokenType type);

/// What a file is follows from its first bytes (file_kind.h) and its name:
/// - an array of NumPy (npy.h), whatever its name,
/// - named `*.bin` tokens, little endian: with a `.idx` beside it, of the type and the number that
///   this index of Megatron-LM says; after a header of 256 int32 as llm.c writes it, magic 20240520,
///   version 1 and the number of uint16 tokens, or magic 20240801, version 7 and the number of
///   uint32 tokens; else raw, as nanoGPT writes them,
/// - JSON lines (json_lines.h), and any other text: a token per byte,
/// - each of these packed by gzip, under its name with `.gz` after it.
struct TokenFile {
  std::filesystem::path path;
  /// A small text is kept as it was when it was opened, and so is what was unpacked or taken out of
  /// JSON lines; everything else is mapped.
  std::variant<std::vector<std::byte>, MappedFile> storage;
  TokenType type = TokenType::uint8;
  std::size_t first_byte = 0;  ///< of the tokens, after a header
  std::int64_t tokens = 0;
  /// First tokens of the documents, in order; known where Megatron's index or JSON lines tell them.
  std::vector<std::int64_t> documents = {};
  bool is_text = false;        ///< a token is a byte of text
  bool is_json_lines = false;  ///< the text of the documents alone
};

/// Opens a file, or the `.bin` of Megatron's prefix where there is no file `path`. Raw tokens are of `raw_bits` bits, 16 or 32. With 0 they are of 16 where
/// `vocabulary` is at most 65,536, and of 32 otherwise. Throws InputError with the file where it
/// cannot be read, is cut short, is longer than its header or index says, or holds tokens of
/// another type, for raw tokens that look like text or like tokens of another size, and for a file
/// that nothing here reads. An empty file has no tokens.
TokenFile open_token_file(const std::filesystem::path& path, std::int64_t vocabulary, int raw_bits);

/// Tokens [first, first + to.size()). Throws InputError with file and position where the file has
/// been cut short since it was opened, and where a token is negative or not below `vocabulary`.
void read_tokens(const TokenFile& file, std::int64_t first, std::span<std::int32_t> to,
                 std::int64_t vocabulary);

/// Asks the system to read the tokens [first, first + count) while this thread does other things.
void read_tokens_ahead(const TokenFile& file, std::int64_t first, std::int64_t count);

}  // namespace moe
