#include "moe/train/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "moe/errors.h"

namespace moe {
namespace {

using namespace std::string_view_literals;

/// The first bytes of files that nothing here reads.
struct Signature {
  std::string_view bytes;
  bool in_bin;  ///< whether it is too long to begin raw tokens by chance
  std::string_view is, way_out;
};

constexpr std::string_view kSaveTokens = "its tokens saved by numpy.save(\"X.npy\", tokens)",
                           kToLines =
                               "JSON lines, as pandas writes them: .to_json(\"X.jsonl\", "
                               "orient=\"records\", lines=True)",
                           kFrom16 = "UTF-8: iconv -f UTF-16 -t UTF-8 FILE > X.txt",
                           kFrom32 = "UTF-8: iconv -f UTF-32 -t UTF-8 FILE > X.txt";

constexpr std::array kSignatures{
    Signature{"PK\x03\x04"sv, true, "a zip archive, as .pt and .npz files are", kSaveTokens},
    Signature{"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9"sv, true, "a file of torch.save", kSaveTokens},
    Signature{"\x80\x02"sv, false, "a pickle of Python", kSaveTokens},
    Signature{"\x80\x03"sv, false, "a pickle of Python", kSaveTokens},
    Signature{"\x80\x04"sv, false, "a pickle of Python", kSaveTokens},
    Signature{"\x80\x05"sv, false, "a pickle of Python", kSaveTokens},
    Signature{"\x89HDF\r\n"sv, true, "an HDF5 file", kSaveTokens},
    Signature{"PAR1"sv, true, "a Parquet file", kToLines},
    Signature{"ARROW1"sv, true, "an Arrow file", kToLines},
    Signature{"\xff\xff\xff\xff"sv, false, "a stream of Arrow", kToLines},
    Signature{"\x28\xb5\x2f\xfd"sv, true, "packed by zstd", "it unpacked: zstd -d FILE"},
    Signature{"\xfd\x37zXZ\0"sv, true, "packed by xz", "it unpacked: xz -dk FILE"},
    Signature{"BZh"sv, false, "packed by bzip2", "it unpacked: bunzip2 -k FILE"},
    Signature{"\x04\x22\x4d\x18"sv, true, "packed by lz4", "it unpacked: lz4 -d FILE"},
    Signature{"version https://git-lfs."sv, true, "a pointer of Git LFS",
              "the file itself: git lfs pull"},
    Signature{"%PDF-"sv, true, "a PDF", "its text: pdftotext FILE X.txt"},
    Signature{"\xff\xfe\0\0"sv, false, "text in UTF-32", kFrom32},
    Signature{"\0\0\xfe\xff"sv, false, "text in UTF-32", kFrom32},
    Signature{"\xff\xfe"sv, false, "text in UTF-16", kFrom16},
    Signature{"\xfe\xff"sv, false, "text in UTF-16", kFrom16},
};

/// A gzip's magic, its one method, flags and the fields after them, which few raw tokens have.
bool is_gzip(std::string_view bytes) {
  constexpr std::size_t kFlags = 3, kExtraFlags = 8;
  if (!bytes.starts_with("\x1f\x8b\x08"sv) || bytes.size() < kExtraFlags + 2) return false;
  const auto flags = static_cast<unsigned char>(bytes[kFlags]);
  const char extra = bytes[kExtraFlags];
  return flags < 32 && (extra == 0 || extra == 2 || extra == 4);
}

/// The first line of JSON lines is a whole object.
bool begins_with_an_object(std::string_view bytes) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = bytes.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos || bytes[begin] != '{') return false;
  const std::string_view line = bytes.substr(begin, bytes.find('\n', begin) - begin);
  if (line[line.find_last_not_of(kBlanks)] != '}') return false;
  const std::size_t next = line.find_first_not_of(kBlanks, 1);
  return line[next] == '"' || line[next] == '}';
}

/// Names of files that are no text: what does not begin as they do is not what it is called.
constexpr std::array kNamesOfOthers{".arrow"sv, ".gz"sv,          ".h5"sv,  ".npy"sv,
                                    ".npz"sv,   ".parquet"sv,     ".pkl"sv, ".pt"sv,
                                    ".pth"sv,   ".safetensors"sv, ".xz"sv,  ".zst"sv};

bool is_name_of_json_lines(const std::filesystem::path& name) {
  return name.extension() == ".jsonl" || name.extension() == ".ndjson";
}

/// True where the name says JSON and the first byte does not disagree.
bool is_json_document(const std::filesystem::path& name, std::string_view bytes) {
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  return name.extension() == ".json" && begin != std::string_view::npos &&
         (bytes[begin] == '[' || bytes[begin] == '{');
}

}  // namespace

FileKind kind_of(const std::filesystem::path& path, const std::filesystem::path& name,
                 std::span<const std::byte> bytes) {
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  const bool is_bin = name.extension() == ".bin";
  if (text.starts_with("\x93NUMPY"sv)) return FileKind::npy;
  if (is_gzip(text)) return FileKind::gzip;
  for (const Signature& one : kSignatures) {
    if (!text.starts_with(one.bytes) || (is_bin && !one.in_bin)) continue;
    throw InputError(fmt::format("{}: is {}, which nothing here reads: expected {}", path.string(),
                                 one.is, one.way_out));
  }
  if (is_bin) return FileKind::plain;
  const std::string_view after_mark =
      text.substr(text.starts_with("\xef\xbb\xbf"sv) ? 3 : 0);  // of UTF-8
  if (begins_with_an_object(after_mark) || is_name_of_json_lines(name)) return FileKind::json_lines;
  if (std::ranges::find(kNamesOfOthers, name.extension().string()) != kNamesOfOthers.end() &&
      !bytes.empty()) {
    throw InputError(
        fmt::format("{}: does not begin as a {} does: expected one, or text in a file "
                    "named .txt",
                    path.string(), name.extension().string()));
  }
  if (name.filename() == "tokenizer.json") {
    throw InputError(fmt::format(
        "{}: is a tokenizer, which nothing here applies: expected a .npy of the tokens that it "
        "makes of a text: python3 -c 'import sys, numpy, tokenizers as t; numpy.save(\"X.npy\", "
        "numpy.array(t.Tokenizer.from_file(sys.argv[1]).encode(open(sys.argv[2]).read()).ids, "
        "\"<u4\"))' {} X.txt",
        path.string(), path.string()));
  }
  if (is_json_document(name, after_mark)) {
    throw InputError(fmt::format(
        "{}: is a JSON document: expected JSON lines, an object with a \"text\" in each, as jq -c "
        "'.[]' makes them of a list; or a name in .txt, to train on it as it stands",
        path.string()));
  }
  constexpr std::size_t kLookedAt = 64 << 10;
  const std::size_t zero = text.substr(0, kLookedAt).find('\0');
  if (zero == std::string_view::npos) return FileKind::plain;
  throw InputError(
      fmt::format("{}: byte {} is 0, so it is no text in UTF-8 (UTF-16 without a mark has such "
                  "bytes): expected "
                  "text, JSON lines, a .npy, or tokens in a file named .bin",
                  path.string(), zero));
}

}  // namespace moe
