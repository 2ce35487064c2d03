#include "moe/train/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>

#include "moe/errors.h"
#include "moe/kernels/counter_random.h"
#include "moe/source_tree.h"

namespace moe {
namespace {

static_assert(std::endian::native == std::endian::little, ".bin files are read as they lie");

constexpr std::int64_t kHeaderBytes = 256 * sizeof(std::int32_t);
constexpr std::int32_t kMagic = 20240520;
constexpr std::int32_t kMagic32 = 20240801;  // llm.c's files of uint32 tokens

std::uint16_t token_at(const Corpus::Part& part, std::size_t index) {
  if (part.bytes_per_token == 1) return std::to_integer<std::uint16_t>(part.bytes[index]);
  std::uint16_t token;
  std::memcpy(&token, part.bytes.data() + 2 * index, sizeof token);
  return token;
}

std::int64_t token_count(const Corpus::Part& part) {
  return static_cast<std::int64_t>(part.bytes.size()) / part.bytes_per_token;
}

/// Refuses a `.bin` whose index, a `.idx` beside it as Megatron-LM writes one, says that its tokens
/// are not of 16 bits.
void refuse_megatron(const std::filesystem::path& path) {
  constexpr std::string_view magic{"MMIDIDX\0\0", 9};
  constexpr std::size_t type_at = magic.size() + sizeof(std::uint64_t);  // after the version
  constexpr int uint16_code = 8;
  std::filesystem::path index = path;
  index.replace_extension(".idx");
  std::ifstream file(index, std::ios::binary);
  std::array<char, type_at + 1> head{};
  if (!file.read(head.data(), static_cast<std::streamsize>(head.size()))) return;
  if (std::string_view(head.data(), magic.size()) != magic) return;
  if (const int code = head.back(); code != uint16_code) {
    throw InputError(fmt::format(
        "{}: {} says that its tokens are of type {}{}: expected type {} (uint16)", path.string(),
        index.filename().string(), code, code == 4 ? " (int32)" : "", uint16_code));
  }
}

/// The token bytes of a `.bin`, without the header where there is one.
std::span<const std::byte> without_header(const std::filesystem::path& path,
                                          std::span<const std::byte> bytes) {
  std::array<std::int32_t, 3> header{};  // magic, version, tokens
  if (bytes.size() >= sizeof header) std::memcpy(header.data(), bytes.data(), sizeof header);
  const auto [magic, version, tokens] = header;
  if (magic == kMagic32 || (magic == kMagic && version != 1)) {
    throw InputError(
        fmt::format("{}: header with magic {}, version {}: expected magic {}, version 1 (uint16 "
                    "tokens)",
                    path.string(), magic, version, kMagic));
  }
  if (magic != kMagic) {
    refuse_megatron(path);
    if (bytes.size() % 2 != 0) {
      throw InputError(fmt::format("{}: {} bytes: expected uint16 tokens, an even number of bytes",
                                   path.string(), bytes.size()));
    }
    return bytes;
  }
  const std::int64_t expected = kHeaderBytes + 2 * std::int64_t{tokens};
  if (tokens < 0 || static_cast<std::int64_t>(bytes.size()) != expected) {
    throw InputError(fmt::format("{}: {} bytes: expected {} for the {} tokens its header announces",
                                 path.string(), bytes.size(), expected, tokens));
  }
  return bytes.subspan(kHeaderBytes);
}

Corpus::Part open_part(const std::filesystem::path& path) {
  MappedFile file(path);
  Corpus::Part part;
  part.file = path;
  if (path.extension() == ".bin") {
    part.bytes_per_token = 2;
    part.bytes = without_header(path, file.bytes());
    part.storage = std::move(file);
  } else {
    // Text is small and may be edited during the training, so a copy is kept.
    std::vector<std::byte> text(file.bytes().begin(), file.bytes().end());
    part.bytes = text;
    part.storage = std::move(text);
  }
  return part;
}

void check_vocabulary(const Corpus::Part& part, std::int64_t vocabulary) {
  const std::int64_t largest = part.bytes_per_token == 1 ? 255 : 65535;
  if (part.bytes_per_token == 2 && vocabulary > largest + 1) {
    throw InputError(fmt::format(
        "{}: uint16 tokens for a vocabulary of {}: expected a vocabulary of at most {}, since "
        "tokens of 32 bits would be read as two each",
        part.file.string(), vocabulary, largest + 1));
  }
  if (vocabulary > largest) return;
  for (std::int64_t i = 0; i < token_count(part); ++i) {
    const std::int64_t token = token_at(part, static_cast<std::size_t>(i));
    if (token >= vocabulary) {
      throw InputError(fmt::format("{}: token {} is {}: expected below the vocabulary of {}",
                                   part.file.string(), i, token, vocabulary));
    }
  }
}

/// FNV-1a over 16-bit tokens, so that it does not depend on how they are stored or cut into files.
std::uint64_t add_fingerprint(std::uint64_t hash, const Corpus::Part& part) {
  for (std::int64_t i = 0; i < token_count(part); ++i) {
    hash = (hash ^ token_at(part, static_cast<std::size_t>(i))) * 0x100000001b3ULL;
  }
  return hash;
}

std::string describe(const Corpus& corpus) {
  const std::string size =
      fmt::format("{} tokens ({} held out)", corpus.tokens, corpus.tokens - corpus.training_tokens);
  const std::string first = corpus.parts.front().file.string();
  if (corpus.parts.size() == 1) return fmt::format("{}, {}", first, size);
  return fmt::format("{} files from {} to {}, {}", corpus.parts.size(), first,
                     corpus.parts.back().file.string(), size);
}

bool is_source_text(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 9> kExtensions{".h",   ".cpp",  ".cu", ".md",   ".sql",
                                                        ".txt", ".toml", ".py", ".cmake"};
  const std::string extension = path.extension().string();
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

void add_files(const std::filesystem::path& directory, bool (*wanted)(const std::filesystem::path&),
               std::vector<std::filesystem::path>& files) {
  std::error_code ignored;
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory, options, ignored)) {
    if (!entry.is_symlink(ignored) && entry.is_regular_file(ignored) && wanted(entry.path())) {
      files.push_back(entry.path());
    }
  }
}

/// A well mixed 64-bit number from a sequence of them.
std::uint64_t mix_all(std::initializer_list<std::uint64_t> values) {
  std::uint64_t state = 0;
  for (const std::uint64_t value : values) state = mix(state + value);
  return state;
}

/// Tokens [begin, begin + to.size()) of the corpus.
void copy_tokens(const Corpus& corpus, std::int64_t begin, std::span<std::int32_t> to) {
  auto part = std::upper_bound(
      corpus.parts.begin(), corpus.parts.end(), begin,
      [](std::int64_t place, const Corpus::Part& candidate) { return place < candidate.first; });
  --part;
  for (std::size_t copied = 0; copied < to.size(); ++part) {
    const std::int64_t from = begin + static_cast<std::int64_t>(copied) - part->first;
    const std::int64_t count =
        std::min(token_count(*part) - from, static_cast<std::int64_t>(to.size() - copied));
    const auto* mapped = std::get_if<MappedFile>(&part->storage);
    if (mapped != nullptr && !mapped->is_whole()) {
      throw InputError(
          fmt::format("{}: was cut short while it was trained on", part->file.string()));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t token = token_at(*part, static_cast<std::size_t>(from + i));
      if (token >= corpus.vocabulary) {
        throw InputError(fmt::format(
            "{}: token {} has become {} while it was trained on: expected below the vocabulary "
            "of {}",
            part->file.string(), from + i, token, corpus.vocabulary));
      }
      to[copied++] = token;
    }
  }
}

}  // namespace

std::vector<std::filesystem::path> default_corpus_files() {
  const std::filesystem::path licenses = "/usr/share/common-licenses";
  const auto any = [](const std::filesystem::path&) { return true; };
  std::vector<std::filesystem::path> files;
  // Installed programs have the text of the repository in a folder of its own.
  if (std::filesystem::is_directory(source_tree() / "text")) {
    add_files(source_tree() / "text", any, files);
    return files;
  }
  for (const auto* folder :
       {"db", "experiments", "microbench", "moe", "tests", "tuner", "viewer"}) {
    add_files(source_tree() / folder, is_source_text, files);
  }
  if (files.empty()) {
    add_files(licenses, any, files);
  }
  if (files.empty()) {
    throw InputError(fmt::format("no text in {} nor in {}: name files to train on",
                                 source_tree().string(), licenses.string()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

Corpus open_corpus(std::vector<std::filesystem::path> files, const CorpusOptions& options) {
  if (files.empty()) files = default_corpus_files();
  Corpus corpus;
  corpus.vocabulary = options.vocabulary;
  corpus.sequence_length = options.sequence_length;
  corpus.fingerprint = 0xcbf29ce484222325ULL;
  for (const auto& file : files) {
    Corpus::Part part = open_part(file);
    if (part.bytes.empty()) {
      if (files.size() > 1) continue;  // an empty file among others adds nothing
      throw InputError(fmt::format("{}: empty: expected text or uint16 tokens", file.string()));
    }
    check_vocabulary(part, options.vocabulary);
    if (!corpus.parts.empty() && corpus.parts.front().bytes_per_token != part.bytes_per_token) {
      throw InputError(
          fmt::format("{}: expected either text or .bin files of tokens, not both ({})",
                      file.string(), corpus.parts.front().file.string()));
    }
    part.first = corpus.tokens;
    corpus.tokens += token_count(part);
    corpus.fingerprint = add_fingerprint(corpus.fingerprint, part);
    corpus.parts.push_back(std::move(part));
  }

  const std::int64_t held_out =
      std::llround(options.held_out_fraction * static_cast<double>(corpus.tokens));
  corpus.training_tokens = corpus.tokens - held_out;
  const std::int64_t needed = options.sequence_length + 1;
  if (std::min(held_out, corpus.training_tokens) < needed) {
    throw InputError(
        fmt::format("{}: {} tokens, {} of them held out: expected at least {} in either part, a "
                    "sequence and its target",
                    files.size() == 1 ? files[0].string() : fmt::format("{} files", files.size()),
                    corpus.tokens, held_out, needed));
  }
  corpus.description = describe(corpus);
  return corpus;
}

Batch draw_batch(const Corpus& corpus, Split split, std::int64_t seed, std::int64_t step,
                 SampleRange samples) {
  const bool training = split == Split::training;
  const std::int64_t begin = training ? 0 : corpus.training_tokens;
  const std::int64_t end = training ? corpus.training_tokens : corpus.tokens;
  const std::int64_t length = corpus.sequence_length;
  const auto places = static_cast<std::uint64_t>(end - begin - length);

  Batch batch;
  batch.tokens.resize(static_cast<std::size_t>(samples.count * length));
  batch.targets.resize(batch.tokens.size());
  std::vector<std::int32_t> window(static_cast<std::size_t>(length + 1));
  for (std::int64_t i = 0; i < samples.count; ++i) {
    const std::uint64_t random =
        mix_all({static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(split),
                 static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(samples.first + i)});
    copy_tokens(corpus, begin + static_cast<std::int64_t>(random % places), window);
    std::copy(window.begin(), window.end() - 1, batch.tokens.begin() + i * length);
    std::copy(window.begin() + 1, window.end(), batch.targets.begin() + i * length);
  }
  return batch;
}

}  // namespace moe
