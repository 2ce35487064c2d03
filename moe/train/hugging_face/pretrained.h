#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "moe/train/checkpoint/safetensors.h"
#include "moe/train/hugging_face/counterparts.h"

namespace moe {

/// A file of a folder, as it must be when an import goes on. `modified`: nanoseconds.
struct SourceFile {
  FileSeal seal;
  std::int64_t modified = 0;
  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

/// The tensors of a folder as transformers writes it: one file, or several with an index.
class Pretrained {
 public:
  /// Throws where a file is missing or damaged, or has not what the index says.
  explicit Pretrained(const std::filesystem::path& folder);

  /// Tensors of the files that the index does not name there: it decides, whoever has a copy.
  std::vector<std::string> remarks() const;
  std::map<std::string, SourceFile> files() const;

  bool has(const std::string& name) const { return file_of_.contains(name); }
  std::size_t size() const { return file_of_.size(); }
  std::filesystem::path path_of(const std::string& name) const {
    return folder_ / file_of_.at(name);
  }
  const std::vector<std::int64_t>& shape(const std::string& name) const {
    return files_.at(file_of_.at(name)).shape(name);
  }
  const std::string& dtype(const std::string& name) const {
    return files_.at(file_of_.at(name)).dtype(name);
  }
  /// Throws where it is missing or has another shape.
  void expect(const Counterpart& one);
  /// A tensor that is there. Throws where its bytes do not fit their checksum.
  const StoredTensor& tensor(const std::string& name) const {
    return files_.at(file_of_.at(name)).tensor(name);
  }
  void forget(const std::string& name, std::span<const std::byte> bytes) const {
    files_.at(file_of_.at(name)).forget(bytes);
  }
  /// All elements of any tensor that is there and is small.
  std::vector<double> values(const std::string& name);

  /// Of two tensors that are there the first element that differs, "2 at 5, where 3 stands in"; ""
  /// where they have other shapes, none where they are the same.
  std::optional<std::string> difference(const std::string& one, const std::string& other);

  /// Those that nothing has asked for.
  std::vector<std::string> left() const { return {left_.begin(), left_.end()}; }
  [[noreturn]] void refuse(const std::string& tensor, const std::string& why) const;

 private:
  std::filesystem::path folder_;
  std::map<std::string, SafetensorsFile> files_;
  std::map<std::string, std::string> file_of_;  ///< by tensor
  std::set<std::string> left_;
};

}  // namespace moe
