#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "moe/train/mapped_file.h"

/// The text that a model is trained on: files of text with a token per byte, or files of 16-bit
/// tokens.
namespace moe {

struct CorpusOptions {
  std::int64_t vocabulary = 256;
  std::int64_t sequence_length = 64;
  double held_out_fraction = 0.1;  ///< the last tokens of the corpus, never trained on
};

/// Files one after the other as one sequence of tokens. A file named `*.bin` holds uint16 tokens,
/// little endian, either raw as nanoGPT writes them or after llm.c's header of 256 int32 (magic
/// 20240520, version 1, count). Any other file is text with a token per byte.
struct Corpus {
  struct Part {
    std::filesystem::path file;
    std::variant<std::vector<std::byte>, MappedFile> storage;  ///< text; .bin
    std::span<const std::byte> bytes;  ///< the bytes of the tokens, without a header
    int bytes_per_token = 1;
    std::int64_t first = 0;  ///< place of its first token in the corpus
  };
  std::vector<Part> parts;
  std::int64_t tokens = 0;
  std::int64_t training_tokens = 0;  ///< the first ones; the rest is held out
  std::int64_t vocabulary = 0;
  std::int64_t sequence_length = 0;
  /// A hash of all tokens in order, which ranks and resumed runs compare.
  std::uint64_t fingerprint = 0;
  std::string description;  ///< "38 files from /a/b to /a/z, 512000 tokens (51200 held out)"
};

/// The repository's own text, or /usr/share/common-licenses where the sources are gone; sorted by
/// path. Throws InputError where there is neither.
std::vector<std::filesystem::path> default_corpus_files();

/// Opens `files`, or default_corpus_files() where there are none. Throws InputError for a file that
/// cannot be read, for a `.bin` that is cut short, for a token outside the vocabulary (file,
/// position, value) or of 32 bits, as far as that can be told, and where either split is too short
/// for one sequence and its target.
Corpus open_corpus(std::vector<std::filesystem::path> files, const CorpusOptions& options);

enum class Split : std::uint8_t { training, held_out };

/// Samples [first, first + count) of the global batch.
struct SampleRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// [count * sequence_length] each, sample by sample; targets[i] is the token after tokens[i].
struct Batch {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
};

/// Every sample starts at a place in the split that is drawn from (seed, split, step, its number in
/// the global batch), so that the global batch is the same however many ranks share it. Throws
/// InputError where another program has meanwhile cut a file short or made a token too large.
Batch draw_batch(const Corpus& corpus, Split split, std::int64_t seed, std::int64_t step,
                 SampleRange samples);

}  // namespace moe
