#include "moe/train/megatron_index.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "moe/errors.h"
#include "moe/train/mapped_file.h"

namespace moe {
namespace {

constexpr std::string_view kIndexMagic{"MMIDIDX\0\0", 9};
constexpr std::uint64_t kIndexVersion = 1;

struct IndexedType {
  std::string_view name;
  std::optional<TokenType> type;  ///< none where no tokens are of it
};
/// By code. Megatron-LM's older versions have float types in other places, which hold no tokens.
constexpr std::array<IndexedType, 9> kIndexedTypes{{{"no type", {}},
                                                    {"uint8", TokenType::uint8},
                                                    {"int8", {}},
                                                    {"int16", {}},
                                                    {"int32", TokenType::int32},
                                                    {"int64", {}},
                                                    {"float64", {}},
                                                    {"float32", {}},
                                                    {"uint16", TokenType::uint16}}};

/// Reads one number or row of numbers after the other.
class IndexReader {
 public:
  explicit IndexReader(const std::filesystem::path& path) : path_(path), bytes_(copy_of(path)) {}

  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError(fmt::format("{}: {}", path_.string(), why));
  }
  template <class T>
  std::vector<T> row(std::uint64_t count, const char* what) {
    const std::size_t left = bytes_.size() - at_;
    if (count > left / sizeof(T)) {
      refuse(fmt::format("{} bytes: is cut short in {}: expected {} of {} bytes from byte {} on",
                         bytes_.size(), what, count, sizeof(T), at_));
    }
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    return values;
  }
  template <class T>
  T number(const char* what) {
    return row<T>(1, what).front();
  }

 private:
  static std::vector<std::byte> copy_of(const std::filesystem::path& path) {
    const MappedFile file(path);
    std::vector<std::byte> bytes(file.bytes().size());
    bytes.resize(file.copy(0, bytes));
    return bytes;
  }

  std::filesystem::path path_;
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

TokenType read_type(IndexReader& reader) {
  const auto code = reader.number<std::uint8_t>("the code of a type");
  const IndexedType& known = code < kIndexedTypes.size() ? kIndexedTypes[code] : kIndexedTypes[0];
  if (known.type) return *known.type;
  reader.refuse(fmt::format(
      "tokens are of type {} ({}): expected 1 (uint8), 4 (int32) or 8 (uint16)", code, known.name));
}

/// [sequence]: its first token, and after the last the number of all tokens.
std::vector<std::int64_t> first_tokens(const IndexReader& reader,
                                       const std::vector<std::int32_t>& lengths,
                                       const std::vector<std::int64_t>& pointers,
                                       std::int64_t bytes_each) {
  std::vector<std::int64_t> first{0};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || pointers[i] != first.back() * bytes_each) {
      reader.refuse(fmt::format(
          "sequence {} has {} tokens from byte {} on: expected sequences that follow one another, "
          "from byte {} on",
          i, lengths[i], pointers[i], first.back() * bytes_each));
    }
    first.push_back(first.back() + lengths[i]);
  }
  return first;
}

}  // namespace

std::optional<MegatronIndex> read_megatron_index(const std::filesystem::path& path) {
  std::error_code ignored;
  // A link that leads nowhere is no missing index: without it the tokens would be misread.
  const auto type = std::filesystem::symlink_status(path, ignored).type();
  if (type == std::filesystem::file_type::not_found) return std::nullopt;
  IndexReader reader(path);
  const auto magic = reader.row<char>(kIndexMagic.size(), "its magic");
  if (std::string_view(magic.data(), magic.size()) != kIndexMagic) {
    reader.refuse("does not begin as Megatron-LM's index does: expected MMIDIDX, or no such file");
  }
  if (const auto version = reader.number<std::uint64_t>("its version"); version != kIndexVersion) {
    reader.refuse(fmt::format("version {}: expected {}", version, kIndexVersion));
  }
  MegatronIndex index;
  index.type = read_type(reader);
  const auto sequences = reader.number<std::uint64_t>("the number of sequences");
  const auto bounds = reader.number<std::uint64_t>("the number of documents");
  const auto lengths = reader.row<std::int32_t>(sequences, "the lengths of sequences");
  const auto pointers = reader.row<std::int64_t>(sequences, "the places of sequences");
  const auto documents = reader.row<std::int64_t>(bounds, "the bounds of documents");
  const auto first = first_tokens(reader, lengths, pointers, bytes_of(index.type));
  index.tokens = first.back();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const std::int64_t least = i == 0 ? 0 : documents[i - 1];
    if (documents[i] < least || documents[i] >= static_cast<std::int64_t>(first.size())) {
      reader.refuse(fmt::format("document {} begins at sequence {}: expected one from {} to {}", i,
                                documents[i], least, sequences));
    }
    const std::int64_t begin = first[static_cast<std::size_t>(documents[i])];
    if (begin < index.tokens) index.documents.push_back(begin);
  }
  return index;
}

}  // namespace moe
