#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "moe/train/data.h"

namespace moe {

/// Which samples a training draws.
enum class DataOrder : std::uint8_t {
  random,    ///< every sample begins anywhere, drawn anew for each
  shuffled,  ///< sequences that a source is cut into: every epoch has each once, in another order
  in_order,  ///< the same sequences one after the other, as the source has them
};

/// How many sequences of a source have been drawn, the epochs before included.
struct SourceCursor {
  std::string name;  ///< Source::name
  std::int64_t drawn = 0;
  std::uint64_t identity = 0;  ///< identity_of() it; 0 in a checkpoint of an earlier version
  /// By which its orders are drawn: its place in the first list that had it, or beyond all numbers
  /// of the checkpoint that it came after. It keeps the number wherever it stands later.
  std::int64_t number = 0;
  bool in_order = false;  ///< they were drawn in_order, else shuffled

  friend bool operator==(const SourceCursor&, const SourceCursor&) = default;
};

struct DataOptions {
  DataOrder order = DataOrder::random;
  /// [source], where an epoch goes on; empty: at the begin.
  std::vector<SourceCursor> cursors = {};
  bool one_batch = false;  ///< every iteration has the batch of the first
};

/// An epoch of a source that ended with an iteration.
struct EpochEnd {
  std::string source;
  std::int64_t epoch = 1;
  std::int64_t sequences = 0;  ///< of an epoch
};

/// The sequences that training cuts a source into; a token is a target in one of them at most.
std::int64_t sequences_in(const Source& source, std::int64_t sequence_length);

/// Where the sources of a training go on after one that stood at `before`.
struct Continued {
  std::vector<SourceCursor> cursors;  ///< [source]
  std::vector<SourceCursor> gone;     ///< those of `before` whose text is not there any more
};

/// A source goes on where its text stood, whatever its place and its name; a new one begins. The
/// sources of `corpus` are put into the order of their numbers, so that what is drawn from them
/// does not depend on the order of a list. Cursors of earlier versions know no texts: they are
/// those of the names.
Continued continued(Corpus& corpus, std::vector<SourceCursor> before);

/// The training batches of iterations that follow one another. What an iteration draws depends on
/// the seed, its number or the cursors, and the number of a sample in the global batch. It is the
/// same on every rank and in every layout.
class Batches {
 public:
  /// Throws std::invalid_argument for cursors of another number of sources.
  Batches(const Corpus& corpus, std::int64_t seed, std::int64_t global_batch, DataOptions options);

  /// Goes on to the batch of iteration `step`, that after the last one. Returns the epochs that end
  /// with it.
  std::vector<EpochEnd> begin(std::int64_t step);
  /// Reads samples of that batch, and asks the system to read those of the next one meanwhile.
  /// Throws as read_batch() does.
  Batch read(SampleRange samples) const;
  /// [source], after the iteration that was begun last; empty where samples are drawn at random.
  const std::vector<SourceCursor>& cursors() const { return cursors_; }

 private:
  /// The places of the global batch of iteration `step`; moves the cursors on, where there are any.
  std::vector<SamplePlace> places_of(std::int64_t step, std::vector<SourceCursor>& cursors) const;

  const Corpus& corpus_;
  std::int64_t seed_;
  std::int64_t global_batch_;
  DataOptions options_;
  std::vector<SourceCursor> cursors_;
  std::vector<SamplePlace> places_, next_;
};

}  // namespace moe
