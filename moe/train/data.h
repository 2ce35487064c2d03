#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "moe/train/token_file.h"

/// What a model is trained on: files of text or of tokens (token_file.h), and the samples that are
/// drawn from them.
namespace moe {

struct CorpusOptions {
  std::int64_t vocabulary = 256;
  std::int64_t sequence_length = 64;
  double held_out_fraction = 0.1;  ///< the last tokens of each source, never trained on
  /// [file]: how often its sequences are drawn, in proportion to those of the other files. Empty:
  /// all files follow one another as one source.
  std::vector<double> weights = {};
  int raw_token_bits = 0;  ///< of a raw `.bin` (open_token_file)
};

/// Files one after the other as one sequence of tokens.
struct Source {
  struct Part {
    TokenFile file;
    std::int64_t first = 0;  ///< place of its first token in the source
  };
  std::string name;  ///< its file, or "38 files from /a/b to /a/z"
  std::vector<Part> parts;
  double weight = 1;
  std::int64_t tokens = 0;
  std::int64_t training_tokens = 0;  ///< the first ones; the rest is held out
};

struct Corpus {
  /// Files with weights in an order that follows from their texts, whatever the list's was.
  std::vector<Source> sources;
  std::int64_t tokens = 0;           ///< of all sources
  std::int64_t training_tokens = 0;  ///< of all sources
  std::int64_t vocabulary = 0;
  std::int64_t sequence_length = 0;
  /// A hash of the tokens in order, which resumed runs compare: of all of them where there are few,
  /// else of samples and their number.
  std::uint64_t fingerprint = 0;
  std::string description;  ///< "38 files from /a/b to /a/z, 512000 tokens (51200 held out)"
  std::vector<std::string> remarks;  ///< what a person should know of them
};

/// The repository's own text, or /usr/share/common-licenses where the sources are gone; sorted by
/// path. Throws InputError where there is neither.
std::vector<std::filesystem::path> default_corpus_files();

/// Opens `files`, or default_corpus_files() where there are none. What is held out of a source with
/// documents begins with a document, where at most a tenth more is held out so. Reads all of up to
/// 16 million tokens, and of more a sample of 4 million. Throws InputError
/// for a file that open_token_file refuses, for a token among those outside the vocabulary (file,
/// position, value), where either split of a source is too short for one sequence and its target,
/// and for a file or a text that one source has twice, so that what is held out of it would be
/// trained on.
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

/// Where a sample begins: a token of a source.
struct SamplePlace {
  std::size_t source = 0;
  std::int64_t first = 0;

  friend bool operator==(const SamplePlace&, const SamplePlace&) = default;
};

/// Every sample begins anywhere in the split, as is drawn from (seed, split, step, its number in
/// the global batch), so that the global batch is the same however many ranks share it.
std::vector<SamplePlace> random_places(const Corpus& corpus, Split split, std::int64_t seed,
                                       std::int64_t step, SampleRange samples);

/// The source whose turn it is, by weight, where `bits` are random.
std::size_t draw_source(const Corpus& corpus, std::uint64_t bits);

/// Throws InputError with file, position and value for a token outside the vocabulary, and where
/// another program has meanwhile cut a file short.
Batch read_batch(const Corpus& corpus, std::span<const SamplePlace> places);

/// Asks the system to read these samples while this thread does other things.
void read_batch_ahead(const Corpus& corpus, std::span<const SamplePlace> places);

/// read_batch() of random_places().
Batch draw_batch(const Corpus& corpus, Split split, std::int64_t seed, std::int64_t step,
                 SampleRange samples);

/// A well mixed number from a sequence of them.
std::uint64_t mix_all(std::initializer_list<std::uint64_t> values);

}  // namespace moe
