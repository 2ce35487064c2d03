#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "moe/train/trainer.h"

namespace moe {

/// A file with a line of JSON for every iteration. What is there stays: a training that goes on
/// adds to it.
class StepLog {
 public:
  /// `tokens`: those of the global batch. Throws db::OutputError where the file cannot be written
  /// to.
  StepLog(const std::string& path, std::int64_t tokens);
  ~StepLog();
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  /// Throws db::OutputError.
  void write(const StepReport& step);

 private:
  std::string path_;
  std::int64_t tokens_;
  std::FILE* file_;
};

}  // namespace moe
