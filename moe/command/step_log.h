#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "moe/train/trainer.h"

namespace moe {

/// A file with a line of JSON for every iteration. What is there stays: a training that goes on
/// adds to it, and the iterations after its checkpoint then stand there twice.
class StepLog {
 public:
  /// `tokens`: those of the global batch. Throws db::OutputError where the file cannot be written
  /// to.
  StepLog(const std::string& path, std::int64_t tokens);
  ~StepLog();
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  /// `schedule`: the name of the one whose turn it was, by which iterations are counted; "" where
  /// there is one. Throws db::OutputError.
  void write(const StepReport& step, const std::string& schedule);

 private:
  std::string path_;
  std::int64_t tokens_;
  std::FILE* file_;
};

}  // namespace moe
