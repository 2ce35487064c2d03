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

/// One tensor of a file that is written, whose bytes are made when it is its turn.
struct MadeTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::function<std::vector<std::byte>()> make;
};

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
/// The same file, of which no more than one tensor is in memory. Throws what `make` throws.
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
  /// The bytes are valid as long as this object. Throws InputError where there is no such tensor,
  /// where another program has cut the file, and where the bytes do not fit their checksum.
  const StoredTensor& tensor(const std::string& name) const;

 private:
  void read_header();
  void expect_one_after_another(std::span<const std::byte> data) const;

  std::filesystem::path path_;
  MappedFile file_;
  std::map<std::string, StoredTensor> tensors_;
  std::map<std::string, std::string> checksums_;
  std::string header_checksum_;
};

}  // namespace moe
