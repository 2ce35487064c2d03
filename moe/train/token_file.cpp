#include "moe/train/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "moe/errors.h"
#include "moe/train/megatron_index.h"

namespace moe {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens are read as they lie");

constexpr std::size_t kHeaderBytes = 256 * sizeof(std::int32_t);
/// Text up to this size is small beside a model, and may be edited during the training.
constexpr std::size_t kLargestCopiedText = std::size_t{64} << 20;

/// The headers of llm.c.
struct TokenHeader {
  std::int32_t magic, version;
  TokenType type;
};
constexpr std::array kTokenHeaders{TokenHeader{20240520, 1, TokenType::uint16},
                                   TokenHeader{20240801, 7, TokenType::uint32}};

std::size_t bytes_per_token(TokenType type) { return static_cast<std::size_t>(bytes_of(type)); }

[[noreturn]] void refuse_tokens(const std::filesystem::path& path, const std::string& why) {
  throw InputError(fmt::format("{}: {}", path.string(), why));
}

void take_size(TokenFile& file, std::int64_t tokens, std::size_t file_bytes,
               const char* announcer) {
  const auto needed = static_cast<std::int64_t>(file.first_byte) +
                      tokens * static_cast<std::int64_t>(bytes_per_token(file.type));
  if (tokens < 0 || static_cast<std::int64_t>(file_bytes) != needed) {
    refuse_tokens(file.path, fmt::format("{} bytes: expected {} for the {} tokens {} announces",
                                         file_bytes, needed, tokens, announcer));
  }
  file.tokens = tokens;
}

/// True where the file begins as those of llm.c do; refuses another version.
bool take_header(TokenFile& file, std::span<const std::byte> bytes) {
  std::array<std::int32_t, 3> header{};  // magic, version, tokens
  if (bytes.size() < sizeof header) return false;
  std::memcpy(header.data(), bytes.data(), sizeof header);
  const auto known = std::find_if(kTokenHeaders.begin(), kTokenHeaders.end(),
                                  [&](const TokenHeader& one) { return one.magic == header[0]; });
  if (known == kTokenHeaders.end()) return false;
  if (header[1] != known->version) {
    refuse_tokens(file.path, fmt::format("header with magic {}, version {}: expected version {}",
                                         header[0], header[1], known->version));
  }
  file.type = known->type;
  file.first_byte = kHeaderBytes;
  take_size(file, header[2], bytes.size(), "its header");
  return true;
}

bool take_index(TokenFile& file, std::size_t file_bytes) {
  std::filesystem::path path = file.path;
  path.replace_extension(".idx");
  std::optional<MegatronIndex> index = read_megatron_index(path);
  if (!index) return false;
  file.type = index->type;
  file.documents = std::move(index->documents);
  take_size(file, index->tokens, file_bytes, path.filename().string().c_str());
  return true;
}

void take_raw(TokenFile& file, std::size_t file_bytes, int bits) {
  file.type = bits == 32 ? TokenType::uint32 : TokenType::uint16;
  const std::size_t each = bytes_per_token(file.type);
  if (file_bytes % each != 0) {
    refuse_tokens(file.path,
                  fmt::format("{} bytes: expected uint{} tokens, {} number of bytes", file_bytes,
                              bits, bits == 16 ? "an even" : "a multiple of 4 as"));
  }
  file.tokens = static_cast<std::int64_t>(file_bytes / each);
}

/// Numbers below 65,536 that are stored in 32 bits look like uint16 with a 0 after each. So do the
/// first tokens of hardly any file of uint16.
void expect_16_bits(const TokenFile& file) {
  constexpr std::int64_t least = 64;  // fewer may be so by chance
  constexpr std::int64_t most = std::int64_t{1} << 20;
  if (file.tokens < least || file.tokens % 2 != 0) return;
  std::vector<std::int32_t> tokens(4096);
  bool all_zero = true;
  const std::int64_t end = std::min(file.tokens, most);
  for (std::int64_t first = 0; first < end;) {
    const std::int64_t count = std::min(static_cast<std::int64_t>(tokens.size()), end - first);
    read_tokens(file, first, std::span(tokens).first(static_cast<std::size_t>(count)),
                std::numeric_limits<std::int64_t>::max());
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); i += 2) {
      if (tokens[i + 1] != 0) return;
      all_zero = all_zero && tokens[i] == 0;
    }
    first += count;
  }
  if (all_zero) return;
  refuse_tokens(file.path,
                "every second uint16 token is 0, as if tokens were of 32 bits: expected "
                "--token-bits 32, or --token-bits 16 where they are of 16");
}

std::int64_t token_in(TokenType type, const std::byte* bytes) {
  const auto read = [bytes]<class T>(T value) {
    std::memcpy(&value, bytes, sizeof value);
    return std::int64_t{value};
  };
  switch (type) {
    case TokenType::uint8:
      return read(std::uint8_t{});
    case TokenType::uint16:
      return read(std::uint16_t{});
    case TokenType::uint32:
      return read(std::uint32_t{});
    case TokenType::int32:
      return read(std::int32_t{});
  }
  return -1;
}

/// The bytes of some tokens. Those of a mapped file are copied to `room`, so that a file that is
/// cut short meanwhile is an error and not the end of the process.
std::span<const std::byte> token_bytes(const TokenFile& file, std::size_t begin, std::size_t count,
                                       std::vector<std::byte>& room) {
  if (const auto* text = std::get_if<std::vector<std::byte>>(&file.storage)) {
    return std::span(*text).subspan(begin, count);
  }
  const auto& mapped = std::get<MappedFile>(file.storage);
  room.resize(count);
  const std::size_t copied = mapped.copy(begin, room);
  if (copied < count) {
    const std::size_t token = (begin + copied - file.first_byte) / bytes_per_token(file.type);
    refuse_tokens(file.path,
                  fmt::format("was cut short while it was trained on: it has {} of {} bytes, and "
                              "token {} cannot be read",
                              mapped.size_now(), mapped.bytes().size(), token));
  }
  return room;
}

}  // namespace

int bytes_of(TokenType type) {
  switch (type) {
    case TokenType::uint8:
      return 1;
    case TokenType::uint16:
      return 2;
    case TokenType::uint32:
    case TokenType::int32:
      return 4;
  }
  return 0;
}

TokenFile open_token_file(const std::filesystem::path& path, std::int64_t vocabulary,
                          int raw_bits) {
  if (path.extension() == ".idx") {
    refuse_tokens(path, "is an index: expected the .bin beside it");
  }
  MappedFile mapped(path);
  const std::size_t size = mapped.bytes().size();
  TokenFile file{.path = path, .storage = {}};
  if (path.extension() != ".bin") {
    file.tokens = static_cast<std::int64_t>(size);
    if (size <= kLargestCopiedText) {
      file.storage.emplace<0>(mapped.bytes().begin(), mapped.bytes().end());
    } else {
      file.storage = std::move(mapped);
    }
    return file;
  }
  const bool is_told = take_header(file, mapped.bytes()) || take_index(file, size);
  constexpr std::int64_t most_of_16_bits = 65536;
  const int bits = raw_bits != 0 ? raw_bits : vocabulary > most_of_16_bits ? 32 : 16;
  if (!is_told) take_raw(file, size, bits);
  file.storage = std::move(mapped);
  if (!is_told && raw_bits == 0 && bits == 16) expect_16_bits(file);
  return file;
}

void read_tokens(const TokenFile& file, std::int64_t first, std::span<std::int32_t> to,
                 std::int64_t vocabulary) {
  const std::size_t each = bytes_per_token(file.type);
  const std::size_t begin = file.first_byte + static_cast<std::size_t>(first) * each;
  std::vector<std::byte> room;
  const std::span<const std::byte> bytes = token_bytes(file, begin, to.size() * each, room);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::int64_t token = token_in(file.type, bytes.data() + i * each);
    if (token < 0 || token >= vocabulary) {
      refuse_tokens(file.path,
                    fmt::format("token {} is {}: expected below the vocabulary of {}",
                                first + static_cast<std::int64_t>(i), token, vocabulary));
    }
    to[i] = static_cast<std::int32_t>(token);
  }
}

void read_tokens_ahead(const TokenFile& file, std::int64_t first, std::int64_t count) {
  const auto* mapped = std::get_if<MappedFile>(&file.storage);
  if (mapped == nullptr) return;
  const std::size_t each = bytes_per_token(file.type);
  mapped->read_ahead(file.first_byte + static_cast<std::size_t>(first) * each,
                     static_cast<std::size_t>(count) * each);
}

}  // namespace moe
