#include "moe/train/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "moe/errors.h"
#include "moe/train/file_kind.h"
#include "moe/train/gzip.h"
#include "moe/train/json_lines.h"
#include "moe/train/megatron_index.h"
#include "moe/train/npy.h"

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
/// What else llm.c writes after such a header. Its magics are dates.
struct OtherHeader {
  std::int32_t magic;
  std::string_view what;
};
constexpr std::array kOtherHeaders{
    OtherHeader{20240326, "a model"}, OtherHeader{20240327, "a state for its tests"},
    OtherHeader{20240328, "a tokenizer"}, OtherHeader{20240522, "examples of an evaluation"},
    OtherHeader{20240527, "a state of the optimizer"}};

/// True of a date such as 20240520 and a version, which raw tokens begin with once in 10^11 files.
bool is_header_of_llmc(std::int32_t magic, std::int32_t version) {
  constexpr std::int32_t kFirstYear = 2023, kLastYear = 2099, kLastVersion = 100;
  const std::int32_t year = magic / 10000, month = magic / 100 % 100, day = magic % 100;
  return year >= kFirstYear && year <= kLastYear && month >= 1 && month <= 12 && day >= 1 &&
         day <= 31 && version >= 0 && version <= kLastVersion;
}

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
  if (known == kTokenHeaders.end()) {
    if (bytes.size() < kHeaderBytes || !is_header_of_llmc(header[0], header[1])) return false;
    const auto other = std::ranges::find(kOtherHeaders, header[0], &OtherHeader::magic);
    refuse_tokens(
        file.path,
        fmt::format("header with magic {}, version {}: llm.c writes it before {}: expected "
                    "tokens, magic 20240520 (uint16) or 20240801 (uint32)",
                    header[0], header[1],
                    other == kOtherHeaders.end() ? "something else" : other->what));
  }
  if (header[1] != known->version) {
    refuse_tokens(file.path, fmt::format("header with magic {}, version {}: expected version {}",
                                         header[0], header[1], known->version));
  }
  file.type = known->type;
  file.first_byte = kHeaderBytes;
  take_size(file, header[2], bytes.size(), "its header");
  return true;
}

/// `name`: that of the `.bin`.
bool take_index(TokenFile& file, const std::filesystem::path& name, std::size_t file_bytes) {
  std::filesystem::path path = name;
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
    case TokenType::int64:
      return read(std::int64_t{});
  }
  return -1;
}

/// Numbers below 65,536 that are stored in 32 bits look like uint16 with a 0 after each. So do the
/// first tokens of hardly any file of uint16.
void expect_16_bits(const TokenFile& file, std::span<const std::byte> bytes) {
  constexpr std::size_t least = 64;  // fewer may be so by chance
  constexpr std::size_t most = std::size_t{1} << 20;
  const std::size_t tokens = bytes.size() / 2;
  if (tokens < least || tokens % 2 != 0) return;
  bool all_zero = true;
  for (std::size_t i = 0; i < std::min(tokens, most); i += 2) {
    if (token_in(TokenType::uint16, bytes.data() + 2 * (i + 1)) != 0) return;
    all_zero = all_zero && token_in(TokenType::uint16, bytes.data() + 2 * i) == 0;
  }
  if (all_zero) return;
  refuse_tokens(file.path,
                "every second uint16 token is 0, as if tokens were of 32 bits: expected "
                "--token-bits 32, or --token-bits 16 where they are of 16");
}

/// Letters are no tokens. Those of a tokenizer are hardly ever all of two bytes that one can print.
void expect_no_text(const TokenFile& file, std::span<const std::byte> bytes) {
  constexpr std::size_t least = 128, most = 4096;
  const auto is_letter = [](std::byte byte) {
    const auto code = static_cast<unsigned char>(byte);
    return (code >= ' ' && code <= '~') || (code >= '\t' && code <= '\r');
  };
  if (bytes.size() < least ||
      !std::ranges::all_of(bytes.first(std::min(bytes.size(), most)), is_letter)) {
    return;
  }
  refuse_tokens(file.path,
                "is text, not raw tokens: expected another name than .bin, as in .txt, or "
                "--token-bits where these are tokens");
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

/// A file's bytes, unpacked where they were packed by gzip.
class Content {
 public:
  explicit Content(const std::filesystem::path& path) : name_(path), storage_(MappedFile(path)) {
    if (kind_of(path, name_, bytes()) != FileKind::gzip) return;
    storage_ = unpacked(path, bytes());
    if (name_.extension() == ".gz") name_.replace_extension();
  }
  /// Without `.gz`.
  const std::filesystem::path& name() const { return name_; }
  std::span<const std::byte> bytes() const {
    if (const auto* mapped = std::get_if<MappedFile>(&storage_)) return mapped->bytes();
    return std::get<0>(storage_);
  }
  /// Copies a small file, which may then be edited.
  void keep_small() {
    const std::span<const std::byte> all = bytes();
    if (all.size() > kLargestCopiedText || storage_.index() == 0) return;
    storage_ = std::vector<std::byte>(all.begin(), all.end());
  }
  std::variant<std::vector<std::byte>, MappedFile> storage() && { return std::move(storage_); }

 private:
  std::filesystem::path name_;
  std::variant<std::vector<std::byte>, MappedFile> storage_;
};

/// The file, or the `.bin` of which Megatron-LM writes the path without its end.
std::filesystem::path found_file(const std::filesystem::path& path) {
  std::error_code none;
  std::filesystem::path with_bin = path;
  with_bin += ".bin";
  const bool is_prefix =
      !std::filesystem::exists(path, none) && std::filesystem::exists(with_bin, none);
  return is_prefix ? with_bin : path;
}

/// Of a `.bin`.
void take_tokens(TokenFile& file, const Content& content, std::int64_t vocabulary, int raw_bits) {
  const std::span<const std::byte> bytes = content.bytes();
  if (take_header(file, bytes) || take_index(file, content.name(), bytes.size())) return;
  constexpr std::int64_t most_of_16_bits = 65536;
  const int bits = raw_bits != 0 ? raw_bits : vocabulary > most_of_16_bits ? 32 : 16;
  take_raw(file, bytes.size(), bits);
  if (raw_bits != 0) return;
  expect_no_text(file, bytes);
  if (bits == 16) expect_16_bits(file, bytes);
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
    case TokenType::int64:
      return 8;
  }
  return 0;
}

TokenFile open_token_file(const std::filesystem::path& path, std::int64_t vocabulary,
                          int raw_bits) {
  if (path.extension() == ".idx") {
    refuse_tokens(path, "is an index: expected the .bin beside it");
  }
  TokenFile file{.path = found_file(path), .storage = {}};
  Content content(file.path);
  switch (kind_of(file.path, content.name(), content.bytes())) {
    case FileKind::gzip:
      refuse_tokens(file.path, "is packed by gzip twice: expected it unpacked: gunzip FILE");
    case FileKind::npy: {
      const NpyHeader header = read_npy_header(file.path, content.bytes());
      file.type = header.type;
      file.first_byte = header.first_byte;
      file.tokens = header.tokens;
      break;
    }
    case FileKind::json_lines: {
      JsonLines lines = read_json_lines(file.path, content.bytes());
      file.is_text = file.is_json_lines = true;
      file.tokens = static_cast<std::int64_t>(lines.text.size());
      file.documents = std::move(lines.documents);
      file.storage = std::move(lines.text);
      return file;
    }
    case FileKind::plain:
      if (content.name().extension() == ".bin") {
        take_tokens(file, content, vocabulary, raw_bits);
      } else {
        file.is_text = true;
        file.tokens = static_cast<std::int64_t>(content.bytes().size());
        content.keep_small();
      }
  }
  file.storage = std::move(content).storage();
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
