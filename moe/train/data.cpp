#include "moe/train/data.h"

#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "db/files_beside.h"
#include "moe/errors.h"
#include "moe/kernels/counter_random.h"
#include "moe/train/source_identity.h"

namespace moe {
namespace {

std::string name_of(const Source& source) {
  const std::string first = source.parts.front().file.path.string();
  if (source.parts.size() == 1) return first;
  return fmt::format("{} files from {} to {}", source.parts.size(), first,
                     source.parts.back().file.path.string());
}

std::string describe(const Corpus& corpus) {
  const std::string size =
      fmt::format("{} tokens ({} held out)", corpus.tokens, corpus.tokens - corpus.training_tokens);
  if (corpus.sources.size() == 1) return fmt::format("{}, {}", corpus.sources.front().name, size);
  double sum = 0;
  for (const Source& source : corpus.sources) sum += source.weight;
  std::string names;
  for (const Source& source : corpus.sources) {
    names += fmt::format("{}{} ({:.3g}%)", names.empty() ? "" : " + ", source.name,
                         100 * source.weight / sum);
  }
  return fmt::format("{}, {}", names, size);
}

/// Refuses text and tokens as one sequence of tokens.
void expect_alike(const TokenFile& first, const TokenFile& file) {
  if (first.is_text == file.is_text) return;
  throw InputError(fmt::format(
      "{}: expected either text or files of tokens, not both ({}), unless files have weights",
      file.path.string(), first.path.string()));
}

/// What of the files is not trained on as it stands there.
std::vector<std::string> remarks_on(const Corpus& corpus) {
  constexpr std::int64_t kBytes = 256;
  std::size_t texts = 0, of_json_lines = 0, documents = 0;
  for (const Source& source : corpus.sources) {
    for (const Source::Part& part : source.parts) {
      texts += part.file.is_text ? 1 : 0;
      if (!part.file.is_json_lines) continue;
      ++of_json_lines;
      documents += part.file.documents.size();
    }
  }
  std::vector<std::string> remarks;
  if (texts > 0 && corpus.vocabulary != kBytes) {
    remarks.push_back(fmt::format(
        "text has a token per byte, of which there are {}: the vocabulary is {}{}", kBytes,
        corpus.vocabulary,
        corpus.vocabulary > kBytes
            ? "; a tokenizer's tokens come in a .npy (moe/train/DATA.md has the line that makes it)"
            : ""));
  }
  if (of_json_lines > 0) {
    remarks.push_back(fmt::format(
        "{} texts in {} file{} of JSON lines: those of the key \"text\", each ended by a newline; "
        "no other key is trained on",
        documents, of_json_lines, of_json_lines == 1 ? "" : "s"));
  }
  return remarks;
}

/// Adds a file after the others of a source.
void add_part(Source& source, TokenFile file) {
  const std::int64_t tokens = file.tokens;
  source.parts.push_back({std::move(file), source.tokens});
  source.tokens += tokens;
}

/// Begins what is held out with a document, where the place is in a file that tells documents.
std::int64_t at_a_document(const Source& source, std::int64_t place, std::int64_t least) {
  for (const Source::Part& part : source.parts) {
    const auto& documents = part.file.documents;
    if (place < part.first || place >= part.first + part.file.tokens || documents.empty()) continue;
    const auto after = std::upper_bound(documents.begin(), documents.end(), place - part.first);
    if (after == documents.begin()) return place;
    const std::int64_t begin = part.first + *std::prev(after);
    return begin >= least ? begin : place;
  }
  return place;
}

void hold_out(Source& source, const CorpusOptions& options) {
  const std::int64_t needed = options.sequence_length + 1;
  const std::int64_t held_out =
      std::llround(options.held_out_fraction * static_cast<double>(source.tokens));
  const std::int64_t place = source.tokens - held_out;
  source.training_tokens = at_a_document(source, place, std::max(needed, place - held_out / 10));
  if (std::min(held_out, source.training_tokens) < needed) {
    throw InputError(fmt::format(
        "{}: {} tokens, {} of them held out: expected at least {} in either part, a sequence and "
        "its target",
        source.parts.size() == 1 ? source.name : fmt::format("{} files", source.parts.size()),
        source.tokens, held_out, needed));
  }
}

/// Refuses a file that is listed twice, and a text of which one copy is trained on and the other
/// held out, where a sequence fits in it.
void expect_each_once(const Source& source, const Corpus& corpus) {
  constexpr const char* expected =
      "what is held out of it would be trained on: expected it once, or {}:2 to draw it twice as "
      "often";
  std::map<std::pair<dev_t, ino_t>, const TokenFile*> listed;
  for (const Source::Part& part : source.parts) {
    const std::filesystem::path& path = part.file.path;
    const auto id = db::file_id(path.string());
    if (!id) continue;
    const auto [first, is_new] = listed.try_emplace({id->device, id->inode}, &part.file);
    if (is_new) continue;
    const std::string before = first->second->path.string();
    throw InputError(
        fmt::format("{}: is {}: {}", path.string(),
                    before == path.string() ? "listed twice" : "the same file as " + before,
                    fmt::format(expected, before)));
  }
  std::map<std::int64_t, int> of_length;  // files of so many tokens
  for (const Source::Part& part : source.parts) ++of_length[part.file.tokens];
  const auto may_be_twice = [&](const TokenFile& file) {
    return file.tokens > corpus.sequence_length && of_length.at(file.tokens) > 1;
  };
  std::map<std::uint64_t, const Source::Part*> trained_on;  // the first file of each text
  for (const Source::Part& part : source.parts) {
    if (part.first >= source.training_tokens || !may_be_twice(part.file)) continue;
    trained_on.try_emplace(identity_of(part.file, corpus.vocabulary), &part);
  }
  for (const Source::Part& part : source.parts) {
    const bool is_held_out = part.first + part.file.tokens > source.training_tokens;
    if (!is_held_out || !may_be_twice(part.file)) continue;
    const auto same = trained_on.find(identity_of(part.file, corpus.vocabulary));
    if (same == trained_on.end() || same->second == &part) continue;
    const std::string before = same->second->file.path.string();
    throw InputError(fmt::format("{}: is the same text as {}: {}", part.file.path.string(), before,
                                 fmt::format(expected, before)));
  }
}

/// The places at which a sample of the split may begin: [begin, begin + count).
struct Places {
  std::int64_t begin = 0;
  std::uint64_t count = 0;
};

Places places_in(const Source& source, Split split, std::int64_t length) {
  const bool training = split == Split::training;
  const std::int64_t begin = training ? 0 : source.training_tokens;
  const std::int64_t end = training ? source.training_tokens : source.tokens;
  return {begin, static_cast<std::uint64_t>(end - begin - length)};
}

/// Calls `read` for the tokens [begin, begin + count) of a source: the file, the first of its
/// tokens, their number, and how many came before them.
template <class Read>
void each_part(const Source& source, std::int64_t begin, std::int64_t count, Read read) {
  auto part = std::upper_bound(
      source.parts.begin(), source.parts.end(), begin,
      [](std::int64_t place, const Source::Part& candidate) { return place < candidate.first; });
  --part;
  for (std::int64_t done = 0; done < count; ++part) {
    const std::int64_t from = begin + done - part->first;
    const std::int64_t here = std::min(part->file.tokens - from, count - done);
    read(part->file, from, here, done);
    done += here;
  }
}

/// FNV-1a over the tokens [first, end) of all sources, counted from the first token of the first
/// one. Throws for a token outside the vocabulary.
std::uint64_t add_tokens(std::uint64_t hash, const Corpus& corpus, std::int64_t first,
                         std::int64_t end) {
  constexpr std::int64_t most = 1 << 16;
  std::vector<std::int32_t> tokens;
  const auto read = [&](const TokenFile& file, std::int64_t from, std::int64_t count,
                        std::int64_t) {
    for (std::int64_t done = 0; done < count; done += most) {
      tokens.resize(static_cast<std::size_t>(std::min(most, count - done)));
      read_tokens(file, from + done, tokens, corpus.vocabulary);
      for (const std::int32_t token : tokens) {
        hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x100000001b3ULL;
      }
    }
  };
  std::int64_t before = 0;  // tokens of the sources before
  for (const Source& source : corpus.sources) {
    const std::int64_t begin = std::max(first - before, std::int64_t{0}),
                       count = std::min(end - before, source.tokens) - begin;
    if (count > 0) each_part(source, begin, count, read);
    before += source.tokens;
  }
  return hash;
}

/// Does not depend on how tokens are stored or cut into files. Of a large corpus it is that of
/// samples all over it: to read all of it could take hours.
std::uint64_t fingerprint_of(const Corpus& corpus) {
  constexpr std::int64_t all_of_up_to = std::int64_t{1} << 24, samples = 1024, each = 4096;
  std::int64_t all = 0;
  for (const Source& source : corpus.sources) all += source.tokens;
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  if (all <= all_of_up_to) return add_tokens(hash, corpus, 0, all);
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t first = i * (all - each) / (samples - 1);
    hash = add_tokens(hash, corpus, first, first + each);
  }
  return mix_all({hash, static_cast<std::uint64_t>(all)});
}

/// What is drawn of files with weights must not depend on the order in which they are listed.
void in_order_of_texts(Corpus& corpus) {
  std::vector<std::pair<std::uint64_t, Source>> sources;
  for (Source& source : corpus.sources) {
    sources.emplace_back(identity_of(source, corpus.vocabulary), std::move(source));
  }
  std::ranges::stable_sort(sources, std::greater{}, [](const auto& one) { return one.first; });
  for (std::size_t i = 0; i < sources.size(); ++i) corpus.sources[i] = std::move(sources[i].second);
}

}  // namespace

Corpus open_corpus(std::vector<std::filesystem::path> files, const CorpusOptions& options) {
  if (files.empty()) files = default_corpus_files();
  Corpus corpus;
  corpus.vocabulary = options.vocabulary;
  corpus.sequence_length = options.sequence_length;
  const bool apart = !options.weights.empty();
  for (std::size_t i = 0; i < files.size(); ++i) {
    TokenFile file = open_token_file(files[i], options.vocabulary, options.raw_token_bits);
    if (file.tokens == 0) {
      if (files.size() > 1 && !apart) continue;  // an empty file among others adds nothing
      throw InputError(fmt::format("{}: empty: expected text or tokens", files[i].string()));
    }
    if (!apart && !corpus.sources.empty()) {
      expect_alike(corpus.sources.front().parts.front().file, file);
    }
    if (corpus.sources.empty() || apart) corpus.sources.emplace_back();
    if (apart) corpus.sources.back().weight = options.weights.at(i);
    add_part(corpus.sources.back(), std::move(file));
  }
  if (corpus.sources.empty()) {
    throw InputError(fmt::format("{} files: all are empty: expected text or tokens", files.size()));
  }
  if (apart) in_order_of_texts(corpus);
  corpus.fingerprint = fingerprint_of(corpus);
  for (Source& source : corpus.sources) {
    source.name = name_of(source);
    hold_out(source, options);
    if (!apart) expect_each_once(source, corpus);
    corpus.tokens += source.tokens;
    corpus.training_tokens += source.training_tokens;
  }
  corpus.description = describe(corpus);
  corpus.remarks = remarks_on(corpus);
  return corpus;
}

std::uint64_t mix_all(std::initializer_list<std::uint64_t> values) {
  std::uint64_t state = 0;
  for (const std::uint64_t value : values) state = mix(state + value);
  return state;
}

std::size_t draw_source(const Corpus& corpus, std::uint64_t bits) {
  if (corpus.sources.size() == 1) return 0;
  double sum = 0;
  for (const Source& source : corpus.sources) sum += source.weight;
  double place = (1 - unit(bits)) * sum;  // [0, sum)
  for (std::size_t i = 0; i + 1 < corpus.sources.size(); ++i) {
    place -= corpus.sources[i].weight;
    if (place < 0) return i;
  }
  return corpus.sources.size() - 1;
}

std::vector<SamplePlace> random_places(const Corpus& corpus, Split split, std::int64_t seed,
                                       std::int64_t step, SampleRange samples) {
  std::vector<SamplePlace> places;
  for (std::int64_t i = 0; i < samples.count; ++i) {
    const std::uint64_t random =
        mix_all({static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(split),
                 static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(samples.first + i)});
    const std::size_t source = draw_source(corpus, mix(random));
    const Places all = places_in(corpus.sources[source], split, corpus.sequence_length);
    places.push_back({source, all.begin + static_cast<std::int64_t>(random % all.count)});
  }
  return places;
}

Batch read_batch(const Corpus& corpus, std::span<const SamplePlace> places) {
  const auto length = static_cast<std::size_t>(corpus.sequence_length);
  Batch batch;
  batch.tokens.reserve(places.size() * length);
  batch.targets.reserve(places.size() * length);
  std::vector<std::int32_t> window(length + 1);
  for (const SamplePlace& place : places) {
    each_part(
        corpus.sources[place.source], place.first, corpus.sequence_length + 1,
        [&](const TokenFile& file, std::int64_t first, std::int64_t count, std::int64_t done) {
          read_tokens(file, first,
                      std::span(window).subspan(static_cast<std::size_t>(done),
                                                static_cast<std::size_t>(count)),
                      corpus.vocabulary);
        });
    batch.tokens.insert(batch.tokens.end(), window.begin(), window.end() - 1);
    batch.targets.insert(batch.targets.end(), window.begin() + 1, window.end());
  }
  return batch;
}

void read_batch_ahead(const Corpus& corpus, std::span<const SamplePlace> places) {
  for (const SamplePlace& place : places) {
    each_part(corpus.sources[place.source], place.first, corpus.sequence_length + 1,
              [](const TokenFile& file, std::int64_t first, std::int64_t count, std::int64_t) {
                read_tokens_ahead(file, first, count);
              });
  }
}

Batch draw_batch(const Corpus& corpus, Split split, std::int64_t seed, std::int64_t step,
                 SampleRange samples) {
  return read_batch(corpus, random_places(corpus, split, seed, step, samples));
}

}  // namespace moe
