#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "moe/communicator/communicator.h"
#include "moe/run/runner.h"
#include "moe/train/batches.h"
#include "moe/train/checkpoint/collect.h"
#include "moe/train/checkpoint/folder_lock.h"
#include "moe/train/checkpoint/index.h"

namespace moe {

struct CheckpointOptions {
  std::filesystem::path directory;  ///< every rank sees the same folder there
  int every = 0;                    ///< iterations between checkpoints; 0 = only at the end
  int keep = 2;                     ///< how many of the last ones are kept; 0 = all
  int goes_on_from = 0;             ///< the iteration of the checkpoint resumed from; 0 = none
  /// What the training is, with its first schedule; the rest of the index is filled in.
  CheckpointIndex about;
};

/// A checkpoint that is complete, as rank 0 tells of it.
struct CheckpointReport {
  int iteration = 0;
  std::filesystem::path folder;
  std::int64_t bytes = 0;  ///< of the files of all ranks
  double stopped_s = 0;    ///< for so long training stood still while tensors were copied
  double written_s = 0;    ///< until it was complete, copies included
};

/// Called on rank 0.
struct CheckpointObserver {
  /// When one is begun, after its iteration was told. May add to its index what outputs are.
  std::function<void(CheckpointIndex&)> begun = [](CheckpointIndex&) {};
  /// Before one is complete: what is told of its iterations is to be stored first, since a training
  /// that goes on from it does not repeat them.
  std::function<void()> completing = [] {};
  std::function<void(const CheckpointReport&)> completed = [](const CheckpointReport&) {};
};

/// Writes checkpoints beside training: ranks copy what they hold, then a thread of each rank writes
/// its copies while training goes on. When all have written, rank 0 makes the checkpoint complete.
/// All functions are collective over `world`, and throw CheckpointError on all ranks together.
class Checkpoints {
 public:
  /// Tries whether every rank can write in the folder.
  Checkpoints(CheckpointOptions options, const Groups& groups, Communicator& world,
              double time_limit_s, CheckpointObserver observer);
  ~Checkpoints();

  /// After an iteration: begins a checkpoint where one is due or `is_last`, and looks after the one
  /// under way. After the last one it waits until it is complete.
  void after(int iteration, bool is_last, const Runner& runner, const Schedule& schedule,
             const std::vector<SourceCursor>& cursors = {}, const OutlierHistory& outliers = {});

 private:
  struct UnderWay;
  void begin(int iteration, const Runner& runner, const Schedule& schedule,
             const std::vector<SourceCursor>& cursors, const OutlierHistory& outliers);
  void look_after(bool waits);
  std::vector<std::string> told(const std::string& mine, const char* what) const;
  void complete_checkpoint(const std::vector<std::string>& told_by_ranks);
  [[noreturn]] void fail(const std::string& why) const;
  void prepare();

  CheckpointOptions options_;
  std::unique_ptr<FolderLock> lock_;  ///< on rank 0
  Communicator& world_;
  double time_limit_s_;
  Collector collector_;
  CheckpointObserver observer_;
  std::unique_ptr<UnderWay> under_way_;
};

}  // namespace moe
