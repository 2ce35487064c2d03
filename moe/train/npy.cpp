#include "moe/train/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "db/console/shown_text.h"
#include "moe/errors.h"

namespace moe {
namespace {

struct ArrayType {
  std::string_view name;
  TokenType type;
};
constexpr std::array kArrayTypes{
    ArrayType{"|u1", TokenType::uint8}, ArrayType{"<u2", TokenType::uint16},
    ArrayType{"<u4", TokenType::uint32}, ArrayType{"<i4", TokenType::int32},
    ArrayType{"<i8", TokenType::int64}};

[[noreturn]] void refuse_array(const std::filesystem::path& path, std::string_view why) {
  throw InputError(fmt::format("{}: {}", path.string(), why));
}

/// The text after `'key':` up to one of `ends`, without the quotes of a text. Empty where the key is
/// missing.
std::string_view value_of(std::string_view header, std::string_view key, char end) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  std::string_view value = header.substr(at + key.size() + 3);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value.substr(0, value.find(end));
}

/// "(4000," or "(" or "(3, 4": the sizes of a shape.
std::int64_t only_size(const std::filesystem::path& path, std::string_view shape) {
  std::int64_t size = 0;
  if (shape.starts_with('(')) {
    const std::string_view sizes = shape.substr(1);
    const auto [end, error] = std::from_chars(sizes.data(), sizes.data() + sizes.size(), size);
    constexpr std::int64_t kMost = std::int64_t{1} << 50;
    if (error == std::errc() && end + 1 == sizes.data() + sizes.size() && *end == ',' &&
        size >= 0 && size <= kMost) {
      return size;
    }
  }
  refuse_array(path, fmt::format("an array of shape {}): expected one dimension, as in (4000,): "
                                 "numpy.save(\"X.npy\", array.reshape(-1))",
                                 db::shortened(shape)));
}

TokenType type_of(const std::filesystem::path& path, std::string_view descr) {
  for (const ArrayType& one : kArrayTypes) {
    if (one.name == descr) return one.type;
  }
  refuse_array(path, fmt::format("an array of type {}: expected |u1, <u2, <u4, <i4 or <i8 (tokens, "
                                 "little endian): array.astype(\"<u2\")",
                                 descr.empty() ? "that it does not say" : db::shortened(descr)));
}

}  // namespace

NpyHeader read_npy_header(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  constexpr std::size_t kVersion = 6, kLength = 8;
  std::uint32_t length = 0;
  const int version = bytes.size() > kLength ? static_cast<int>(bytes[kVersion]) : 0;
  const std::size_t begin = kLength + (version == 1 ? 2 : 4);
  if (bytes.size() < begin) {
    refuse_array(path,
                 fmt::format("{} bytes: is cut short in the header of an array", bytes.size()));
  }
  if (version < 1 || version > 3) {
    refuse_array(path,
                 fmt::format("an array in version {} of the format: expected 1, 2 or 3", version));
  }
  std::memcpy(&length, bytes.data() + kLength, begin - kLength);
  if (length > bytes.size() - begin) {
    refuse_array(
        path, fmt::format("{} bytes: is cut short in a header of {} bytes", bytes.size(), length));
  }
  const std::string_view header{reinterpret_cast<const char*>(bytes.data() + begin), length};
  std::string_view descr = value_of(header, "descr", ',');
  if (descr.size() >= 2 && descr.front() == '\'') descr = descr.substr(1, descr.size() - 2);
  NpyHeader npy{type_of(path, descr), begin + length, 0};
  // Of one dimension the elements lie alike in either order, whatever fortran_order says.
  npy.tokens = only_size(path, value_of(header, "shape", ')'));
  const std::int64_t needed = static_cast<std::int64_t>(npy.first_byte) +
                              npy.tokens * static_cast<std::int64_t>(bytes_of(npy.type));
  if (needed != static_cast<std::int64_t>(bytes.size())) {
    refuse_array(path, fmt::format("{} bytes: expected {} for the {} tokens of type {} that its "
                                   "header announces",
                                   bytes.size(), needed, npy.tokens, descr));
  }
  return npy;
}

}  // namespace moe
