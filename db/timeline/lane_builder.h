#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "db/timeline/timeline.h"

/// Sorts the spans of a rank into lanes while they are read.
namespace db {

/// The place of each op in a timeline's list. Numbers of ops in the database need not be dense (a
/// filtered import), those in memory are. Several threads may ask at one time.
class OpIndex {
 public:
  explicit OpIndex(const std::vector<TimelineOp>& ops);

  struct Place {
    std::int32_t op = 0;
    const std::string* stream = nullptr;
    CountedAs activity;
  };
  /// An op without a row gets a place after all others.
  Place find_or_add(int op);
  /// The ops without a row that were added since the last call, in the order of their places.
  std::vector<TimelineOp> take_unnamed();

 private:
  std::vector<CountedAs> activities_;
  std::vector<const std::string*> streams_;
  std::unordered_map<int, std::int32_t> index_;  // of the ops with a row: never changes
  std::mutex mutex_;                             // guards what follows
  std::unordered_map<int, std::int32_t> unnamed_index_;
  std::vector<TimelineOp> unnamed_;
};

/// Takes the spans of one rank at a time.
class LaneBuilder {
 public:
  explicit LaneBuilder(OpIndex& index) : index_(index) {}

  /// Spans of negative or non-finite time are left out.
  void add(const Span& span);
  /// The lanes of what was added, and empty again for the next rank.
  RankLanes take(int rank);

 private:
  struct Stream {
    std::vector<LaneSpan> spans;
    bool sorted = true;
  };
  using Key = std::pair<int, std::string>;  // order of the stream, stream

  OpIndex& index_;
  std::map<Key, Stream> streams_;
  std::unordered_map<int, std::pair<std::int32_t, Stream*>> stream_of_;  // by number of the op
  std::vector<CountedAs> activities_;                                    // by place of the op
  TimeInterval extent_;
  std::size_t spans_ = 0;
};

}  // namespace db
