#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "db/console/growing_file.h"
#include "moe/command/step_figures.h"
#include "moe/train/checkpoint/index.h"
#include "moe/train/trainer.h"

namespace moe {

/// Throws where the name of a log is wrong and the file is not to be touched: db::OutputError for
/// a database, db::Error for a file of this program's own `database`.
void refuse_log(const std::string& path, const std::string& database);

/// Where a training goes on.
struct LogResumed {
  int iteration = 0;  ///< the last one of the checkpoint; 0 where it begins anew
  /// The log's, when the checkpoint was begun. Of a training that begins anew: after the first line
  /// of the one that ended before its first checkpoint.
  std::optional<LogPlace> place;
};

/// Until a training has a checkpoint, a file in its folder says where its log begins.
void note_log_begin(const std::filesystem::path& folder, const LogPlace& after_first_line);
/// None where there is no such file.
std::optional<LogPlace> noted_log_begin(const std::filesystem::path& folder);
void forget_log_begin(const std::filesystem::path& folder);

/// A file with a line of JSON for every iteration. What is there stays, but for the lines after the
/// checkpoint that a training goes on from. They are cut where it can be told that the same
/// training wrote them; else they stand there twice. The first line after a resume has "resumed".
class StepLog {
 public:
  /// Throws db::OutputError where the file cannot be written to. `time_limit_s`: how long other
  /// ranks wait for this one, which waits half as long for the reader of a pipe.
  StepLog(const std::string& path, const StepScale& scale, std::optional<LogResumed> resumed,
          double time_limit_s);

  /// `schedule`: the name of the one whose turn it was, by which iterations are counted; "" where
  /// there is one. Throws db::OutputError, as does expect_in_place().
  void write(const StepReport& step, const std::string& schedule);
  /// After the last whole line; none where nothing can be cut there, and before the first line.
  const std::optional<LogPlace>& place() const { return place_; }
  /// Warns, once, where the file has another name by now. Throws db::OutputError where it has none.
  void expect_in_place();

 private:
  void begin();
  void cut_repeated();
  void add(const std::string& text);

  std::string path_;
  StepScale scale_;
  std::optional<LogResumed> resumed_;  ///< until the first line
  double time_limit_s_;
  db::GrowingFile file_;
  bool has_begun_ = false, said_renamed_ = false;
  std::optional<LogPlace> place_;
};

}  // namespace moe
