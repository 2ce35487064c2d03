#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/measurement_samples.h"
#include "microbench/sampling.h"
#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "moe/communicator/ranks.h"

/// A benchmark is a list of plans. A plan makes its case when its turn comes, so that memory for
/// one case is needed at a time. The case knows neither how it is swept nor how it is timed and
/// printed.
namespace microbench {

/// The ranks and the backend that benchmarks run on.
struct Bench {
  moe::Communicator& world;     ///< for timing: host memory
  moe::Communicator& measured;  ///< the same ranks, for buffers of the backend's arena
  moe::Backend& backend;
  moe::DType dtype = moe::DType::f32;
  std::string device = "cpu";
  Sampling sampling;
  /// Collectives return when they are enqueued on their stream (NCCL), not when they are done.
  bool enqueues = false;
  moe::Stream collective_stream = moe::Stream::inter_node;
  std::int64_t arena_begin = 0;           ///< where buffers of its cases begin
  std::vector<moe::RankInfo> ranks = {};  ///< of `world`; empty in tests
};

struct Result;

/// A column of the table that a benchmark prints.
struct Column {
  std::string name;
  std::string unit;
  int width = 8;
  std::function<std::string(const Result&)> text;
};

/// One row of output. The independent variables are set before it is measured.
struct Result {
  /// Columns of its table, without those that every table has (table.h); null where it is no line
  /// of a table.
  const std::vector<Column>* columns = nullptr;
  const std::vector<Column>* last_columns = nullptr;  ///< after all others; may be null
  db::Measurement measurement;
  std::string redop = "none";
  int root = -1;
  double bus_factor = 1;               ///< bus bandwidth over algorithm bandwidth
  double cv = 0;                       ///< standard deviation of the samples over their mean
  std::vector<double> quantiles = {};  ///< of the samples; empty where they are not known
  double p95_s = 0;                    ///< 95 of 100 samples take no longer
  std::vector<db::MeasurementRank> ranks = {};  ///< empty where it is not known
  /// The median where ranks wait without sleeping (awake.h); none where they have no cores for that.
  std::optional<double> awake_s = {};
  bool in_mean_of_bus_bandwidth = false;
};

struct Case {
  Result row;
  std::function<void()> prepare;  ///< fills the inputs; called once, untimed
  TimedCalls timed;               ///< returns when the calls have finished
  std::function<std::int64_t()>
      verify;  ///< makes one more call on fresh values; wrong elements here
  // For cases that can run beside another (interference.h):
  std::function<void()> call = {};  ///< one, issued on `stream`
  moe::Stream stream = moe::Stream::compute;
  std::function<void(Result&)> complete = nullptr;  ///< adds what else the samples have shown
};

struct Plan {
  std::string name;  ///< "all_reduce/1048576"
  std::function<Case()> make;
  double shortest_sample_s = 0;  ///< if longer than that of the sampling
};

/// Statistics of the samples of a case, in seconds per call.
struct Summary {
  double median_s = 0;
  double min_s = 0;
  double max_s = 0;
  double cv = 0;  ///< standard deviation over mean
  int samples = 0;
  std::vector<double> seconds = {};               ///< the samples; empty where they are not known
  std::vector<std::vector<double>> by_rank = {};  ///< the same of each rank
};
Summary summary_of(const std::vector<double>& seconds);
Summary summary_of(const Samples& samples);

/// The row of the case with these figures. Makes and verifies one more call on every rank. The same
/// Result on every rank.
Result result_of(const Bench& bench, const Case& subject, const Summary& summary);

/// Prepares the case, times it on all ranks (sampling.h) and verifies it. A sample lasts
/// `shortest_sample_s` where that is longer than the sampling's.
Result measure(const Bench& bench, const Case& subject, double shortest_sample_s = 0);

/// Seconds from the issue of the first of `calls` calls until the device has done the last. `call`
/// enqueues on `stream`.
double timed_on_device(moe::Backend& backend, moe::Stream stream, int calls,
                       const std::function<void()>& call);

/// Addresses in the backend's arena for buffers of these sizes, from arena_begin on.
std::vector<std::byte*> place(const Bench& bench, const std::vector<std::int64_t>& bytes);
/// The end of these buffers in the arena.
std::int64_t arena_end(const Bench& bench, const std::vector<std::int64_t>& bytes);

}  // namespace microbench
