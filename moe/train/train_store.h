#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "moe/program/groups.h"
#include "moe/program/program.h"
#include "moe/train/trainer.h"

namespace moe {

/// A timeline as rows of the database: one TimelineOp per op, one Span per op and rank with the
/// FLOPs and bytes that the routing makes of it; where `sent_bytes` is given (by rank and op), the
/// bytes of communications are those.
struct TimelineRows {
  db::Timeline timeline;
  std::vector<db::TimelineOp> ops;
  std::vector<db::Span> spans;
};
TimelineRows timeline_rows(const Program& program, const Timeline& timeline, const Routing& routing,
                           const Groups& groups,
                           const std::vector<std::vector<std::int64_t>>& sent_bytes = {});

/// Writes one training run into the database while it runs, batch by batch, so that a killed run
/// keeps all but the last second. Used on rank 0.
class TrainStore {
 public:
  /// Stores the run (its id, status and times are set here) and its ranks.
  TrainStore(const std::string& path, db::Run run, const std::vector<RankInfo>& ranks,
             Groups groups, int timelines);

  /// What the iterations from `iteration` on run.
  void observe(int iteration, const Schedule& schedule, const Program& program);
  void observe(const StepReport& report);
  /// Stores what is left, the timelines nearest to the median iteration, and the end of the run.
  void finish();
  /// The same for a run that ended early ("failed", "killed") and why, as far as the database takes
  /// it: the caller has a failure to report that matters more.
  void abandon(const std::string& status, const std::string& error) noexcept;

  std::int64_t run_id() const { return run_id_; }

 private:
  void flush();
  void store_timelines();

  db::Connection connection_;
  std::vector<Program> programs_;  ///< one per schedule, the last in force
  Groups groups_;
  int timelines_;
  std::int64_t run_id_ = 0;
  double flushed_at_ = 0;
  std::vector<db::RunRank> ranks_;
  std::vector<db::Iteration> iterations_;
  std::vector<db::Load> loads_;
  struct Recent {
    StepReport report;
    std::size_t program = 0;  ///< of programs_
  };
  std::deque<Recent> recent_;
  std::int64_t tokens_per_iteration_ = 0;
};

}  // namespace moe
