#include "moe/train/checkpoint/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "moe/errors.h"
#include "moe/input/json.h"
#include "moe/train/checkpoint/checksum.h"
#include "moe/train/checkpoint/written_file.h"

namespace moe {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie");

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kChecksum = "checksum ";
constexpr std::size_t kAlignedTo = 8;
constexpr std::int64_t kLongestHeader = 100'000'000;  // as the library has it

struct ElementType {
  std::string_view name;
  int bytes;
};
constexpr std::array kElementTypes{ElementType{"F64", 8}, ElementType{"F32", 4},
                                   ElementType{"I32", 4}, ElementType{"BF16", 2},
                                   ElementType{"F16", 2}};

[[noreturn]] void refuse_file(const std::filesystem::path& file, std::string_view why) {
  throw InputError(fmt::format("{}: {}", file.string(), why));
}
[[noreturn]] void refuse_tensor(const std::filesystem::path& file, std::string_view tensor,
                                std::string_view why) {
  throw InputError(
      fmt::format("{}: tensor {}: {}", file.string(), db::shortened(tensor, 200), why));
}

/// A tensor as the header has it.
struct HeaderEntry {
  const std::string &name, &dtype;
  const std::vector<std::int64_t>& shape;
  std::size_t bytes;
  std::string checksum;
};

std::string header_of(const std::vector<HeaderEntry>& entries) {
  // Members are appended: to look for each name among those before it would take long.
  using Json = nlohmann::ordered_json;
  Json::object_t metadata{{"format", "pt"}};
  for (const HeaderEntry& entry : entries) {
    metadata.emplace_back(std::string(kChecksum) + entry.name, entry.checksum);
  }
  Json::object_t header;
  header.emplace_back(std::string(kMetadata), std::move(metadata));
  std::size_t end = 0;
  for (const HeaderEntry& entry : entries) {
    const std::size_t begin = std::exchange(end, end + entry.bytes);
    header.emplace_back(
        entry.name,
        Json{{"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {begin, end}}});
  }
  std::string text = Json(std::move(header)).dump();
  text.resize((text.size() + kAlignedTo - 1) / kAlignedTo * kAlignedTo, ' ');
  return text;
}

/// Writes the header's length and the header.
FileSeal write_header(WrittenFile& out, const std::string& header) {
  const std::uint64_t length = header.size();
  const auto bytes = std::as_bytes(std::span(header));
  out.write(std::as_bytes(std::span(&length, 1)), "header");
  out.write(bytes, "header");
  return {static_cast<std::int64_t>(sizeof length + header.size()), checksum_text(checksum(bytes))};
}

std::optional<int> bytes_of_type(std::string_view dtype) {
  for (const ElementType& type : kElementTypes) {
    if (type.name == dtype) return type.bytes;
  }
  return std::nullopt;
}
std::string unknown_type(std::string_view dtype) {
  return fmt::format("elements of type {}: expected one of F64, F32, I32, BF16, F16",
                     db::shortened(dtype));
}

/// The elements of a shape; none where there are more than anything holds.
std::optional<std::int64_t> elements_in(const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t most = std::int64_t{1} << 50;
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    if (size > 0 && elements > most / size) return std::nullopt;
    elements *= size;
  }
  return elements;
}

}  // namespace

int element_bytes(std::string_view dtype, const std::filesystem::path& file) {
  const std::optional<int> bytes = bytes_of_type(dtype);
  if (!bytes) refuse_file(file, unknown_type(dtype));
  return *bytes;
}

FileSeal write_safetensors(const std::filesystem::path& file,
                           const std::vector<StoredTensor>& tensors) {
  std::vector<HeaderEntry> entries;
  for (const StoredTensor& tensor : tensors) {
    entries.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes.size(),
                       checksum_text(checksum(tensor.bytes))});
  }
  WrittenFile out(file);
  FileSeal seal = write_header(out, header_of(entries));
  for (const StoredTensor& tensor : tensors) {
    out.write(tensor.bytes, "tensor " + tensor.name);
    seal.bytes += static_cast<std::int64_t>(tensor.bytes.size());
  }
  out.close();
  return seal;
}

std::int64_t bytes_of_tensor(std::string_view dtype, const std::vector<std::int64_t>& shape,
                             const std::filesystem::path& file) {
  return elements_in(shape).value() * element_bytes(dtype, file);
}

FileSeal write_safetensors(const std::filesystem::path& file,
                           const std::vector<MadeTensor>& tensors) {
  const std::string unknown = checksum_text(0);  // as long as any
  std::vector<HeaderEntry> entries;
  for (const MadeTensor& tensor : tensors) {
    entries.push_back({tensor.name, tensor.dtype, tensor.shape,
                       static_cast<std::size_t>(bytes_of_tensor(tensor.dtype, tensor.shape, file)),
                       unknown});
  }
  WrittenFile out(file);
  FileSeal seal = write_header(out, header_of(entries));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string part = "tensor " + tensors[i].name;
    PiecewiseChecksum sum(entries[i].bytes);
    std::size_t written = 0;
    tensors[i].make([&](std::span<const std::byte> piece) {
      sum.add(piece);
      out.write(piece, part);
      written += piece.size();
    });
    if (written != entries[i].bytes) {
      throw std::logic_error(fmt::format("write_safetensors: {} has {} bytes: expected {}",
                                         tensors[i].name, written, entries[i].bytes));
    }
    entries[i].checksum = checksum_text(sum.value());
    seal.bytes += static_cast<std::int64_t>(written);
  }
  const std::string header = header_of(entries);
  const auto header_bytes = std::as_bytes(std::span(header));
  out.write_again(sizeof(std::uint64_t), header_bytes, "header");
  seal.header_checksum = checksum_text(checksum(header_bytes));
  out.close();
  return seal;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file) : path_(file), file_(file) {
  read_header();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file, const FileSeal& seal)
    : path_(file), file_(file) {
  if (static_cast<std::int64_t>(file_.bytes().size()) != seal.bytes) {
    refuse_file(path_, fmt::format("{} bytes: expected the {} that were written",
                                   file_.bytes().size(), seal.bytes));
  }
  read_header();
  if (header_checksum_ != seal.header_checksum) {
    refuse_file(path_, "its header is not the one that was written");
  }
}

void SafetensorsFile::read_header() {
  const auto bytes = file_.bytes();
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) {
    refuse_file(path_, fmt::format("{} bytes: expected the length of a header", bytes.size()));
  }
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > kLongestHeader || length > bytes.size() - sizeof length) {
    refuse_file(path_, fmt::format("a header of {} bytes in a file of {}: it is cut short, or not "
                                   "a safetensors file",
                                   length, bytes.size()));
  }
  const auto header = bytes.subspan(sizeof length, length);
  const auto data = bytes.subspan(sizeof length + length);
  header_checksum_ = checksum_text(checksum(header));
  const InputDocument document =
      parse_json({reinterpret_cast<const char*>(header.data()), header.size()}, path_.string());
  const InputObject root = document.object();
  for (const std::string& name : root.keys()) {
    const InputObject entry = root.object(name);
    if (name == kMetadata) {
      for (const std::string& key : entry.keys()) {
        std::string value = entry.text(key);
        if (key.starts_with(kChecksum)) {
          checksums_[key.substr(kChecksum.size())] = std::move(value);
        }
      }
      continue;
    }
    StoredTensor tensor{name, entry.text("dtype"), {}, {}};
    if (!bytes_of_type(tensor.dtype)) {
      refuse_tensor(path_, name, unknown_type(tensor.dtype));
    }
    tensor.shape = entry.member("shape", "a list of sizes").integers(0);
    const auto offsets = entry.member("data_offsets", "two offsets").integers(0);
    const auto elements = elements_in(tensor.shape);
    if (offsets.size() != 2 || !elements ||
        offsets[1] - offsets[0] != *elements * element_bytes(tensor.dtype, path_)) {
      refuse_tensor(path_, name, "its place in the file is not as long as its shape");
    }
    if (offsets[1] > static_cast<std::int64_t>(data.size())) {
      refuse_tensor(path_, name,
                    fmt::format("ends {} bytes after the end of the file: it is cut short",
                                offsets[1] - static_cast<std::int64_t>(data.size())));
    }
    tensor.bytes = data.subspan(static_cast<std::size_t>(offsets[0]),
                                static_cast<std::size_t>(offsets[1] - offsets[0]));
    tensors_.emplace(name, std::move(tensor));
  }
  expect_one_after_another(data);
}

/// As the library has it, every byte is of one tensor.
void SafetensorsFile::expect_one_after_another(std::span<const std::byte> data) const {
  std::vector<const StoredTensor*> in_order;
  for (const auto& [name, tensor] : tensors_) {
    if (!tensor.bytes.empty()) in_order.push_back(&tensor);
  }
  std::ranges::sort(in_order, {}, [](const StoredTensor* one) { return one->bytes.data(); });
  std::size_t end = 0;
  for (const StoredTensor* one : in_order) {
    const auto begin = static_cast<std::size_t>(one->bytes.data() - data.data());
    if (begin != end) {
      refuse_tensor(path_, one->name,
                    fmt::format("begins at byte {}: expected byte {}, at which the one before it "
                                "ends",
                                begin, end));
    }
    end = begin + one->bytes.size();
  }
  if (end != data.size()) {
    refuse_file(path_, fmt::format("{} bytes after the last tensor", data.size() - end));
  }
}

void expect_shape(const std::filesystem::path& file, std::string_view tensor,
                  const std::vector<std::int64_t>& shape,
                  const std::vector<std::int64_t>& expected) {
  if (shape == expected) return;
  refuse_tensor(
      file, tensor,
      fmt::format("is [{}]: expected [{}]", fmt::join(shape, ", "), fmt::join(expected, ", ")));
}

/// Of a tensor of any size in little memory.
std::uint64_t SafetensorsFile::sum_of(const StoredTensor& tensor) const {
  constexpr std::size_t kAtOnce = std::size_t{16} << 20;
  PiecewiseChecksum sum(tensor.bytes.size());
  for (std::size_t first = 0; first < tensor.bytes.size(); first += kAtOnce) {
    const auto piece = tensor.bytes.subspan(first, std::min(kAtOnce, tensor.bytes.size() - first));
    sum.add(piece);
    if (tensor.bytes.size() > kAtOnce) forget(piece);
  }
  return sum.value();
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

const StoredTensor& SafetensorsFile::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) refuse_tensor(path_, name, "is not there");
  if (!file_.is_whole()) refuse_file(path_, "was cut short while it was read");
  const auto expected = checksums_.find(name);
  if (expected != checksums_.end() && expected->second != checksum_text(sum_of(found->second))) {
    refuse_tensor(path_, name, "its bytes are not those that were written");
  }
  return found->second;
}

}  // namespace moe
