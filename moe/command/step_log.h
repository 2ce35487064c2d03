#pragma once

#include <cstdio>
#include <string>

#include "moe/command/step_figures.h"
#include "moe/train/trainer.h"

namespace moe {

/// A file with a line of JSON for every iteration. What is there stays: a training that goes on
/// adds to it, and the iterations after its checkpoint then stand there twice.
class StepLog {
 public:
  /// Throws db::OutputError where the file cannot be written to.
  StepLog(const std::string& path, const StepScale& scale);
  ~StepLog();
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  /// `schedule`: the name of the one whose turn it was, by which iterations are counted; "" where
  /// there is one. Throws db::OutputError.
  void write(const StepReport& step, const std::string& schedule);

 private:
  std::string path_;
  StepScale scale_;
  std::FILE* file_;
};

}  // namespace moe
