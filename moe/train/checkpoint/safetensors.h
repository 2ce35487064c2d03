#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moe/train/mapped_file.h"

/// Files of named tensors, as the library safetensors writes them: 8 bytes with the length of a
/// header, the header in JSON, then the tensors one after the other, little endian and row-major.
/// Each tensor's checksum is in the header's __metadata__, beside the format "pt" that transformers
/// asks for.
namespace moe {

/// One tensor of a file. Who holds the bytes is said where it comes from.
struct StoredTensor {
  std::string name;
  std::string dtype;  ///< "F32", "F64", "I32", "BF16"
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Takes the next bytes of a tensor.
using BytesTaker = std::function<void(std::span<const std::byte>)>;

/// One tensor of a file that is written, whose bytes are made when it is its turn.
struct MadeTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  /// Gives all bytes in order, in pieces of any size.
  std::function<void(const BytesTaker&)> make;
};

/// The bytes of a tensor of `shape`. Throws InputError for a type that nothing here reads, with
/// `file`.
std::int64_t bytes_of_tensor(std::string_view dtype, const std::vector<std::int64_t>& shape,
                             const std::filesystem::path& file);

/// What a file that was written must be when it is read.
struct FileSeal {
  std::int64_t bytes = 0;
  std::string header_checksum;
  friend bool operator==(const FileSeal&, const FileSeal&) = default;
};

/// The bytes of an element. Throws InputError for a type that nothing here reads, with `file`.
int element_bytes(std::string_view dtype, const std::filesystem::path& file);

/// Throws InputError with file and tensor where a tensor has another shape than the model says.
void expect_shape(const std::filesystem::path& file, std::string_view tensor,
                  const std::vector<std::int64_t>& shape,
                  const std::vector<std::int64_t>& expected);

/// Writes a new file and waits until it is on the disk. Throws std::runtime_error with the file,
/// the tensor and the reason ("No space left on device").
FileSeal write_safetensors(const std::filesystem::path& file,
                           const std::vector<StoredTensor>& tensors);
/// The same file, of which no more than one piece is in memory. Throws what `make` throws.
FileSeal write_safetensors(const std::filesystem::path& file,
                           const std::vector<MadeTensor>& tensors);

/// A file that was opened: its header is checked, its tensors when they are asked for.
class SafetensorsFile {
 public:
  /// Throws InputError with the file, and the tensor where it is known, for a header or a length
  /// that is not one of such a file, and one that differs from the seal.
  explicit SafetensorsFile(const std::filesystem::path& file);
  SafetensorsFile(const std::filesystem::path& file, const FileSeal& seal);

  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return tensors_.contains(name); }
  std::size_t size() const { return tensors_.size(); }
  /// The shape of a tensor that is there, whose bytes are not looked at.
  const std::vector<std::int64_t>& shape(const std::string& name) const {
    return tensors_.at(name).shape;
  }
  const std::string& dtype(const std::string& name) const { return tensors_.at(name).dtype; }
  /// What it must be when it is read again.
  FileSeal seal() const { return {file_.size_now(), header_checksum_}; }
  /// The bytes are valid as long as this object. Throws InputError where there is no such tensor,
  /// where another program has cut the file, and where the bytes do not fit their checksum.
  const StoredTensor& tensor(const std::string& name) const;
  /// Says that bytes of a tensor are not needed soon: they no longer count as this process's
  /// memory. Who reads them after all reads them from the file.
  void forget(std::span<const std::byte> bytes) const { file_.forget(bytes); }

 private:
  void read_header();
  void expect_one_after_another(std::span<const std::byte> data) const;
  std::uint64_t sum_of(const StoredTensor& tensor) const;

  std::filesystem::path path_;
  MappedFile file_;
  std::map<std::string, StoredTensor> tensors_;
  std::map<std::string, std::string> checksums_;
  std::string header_checksum_;
};

}  // namespace moe
