#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "db/records.h"
#include "microbench/sampling.h"
#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"

/// A benchmark is a list of plans; a plan makes its case when its turn comes, so that the memory of
/// one case is there at a time. What a case does is apart from how it is swept, timed and printed.
namespace microbench {

/// What benchmarks run on.
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
  std::int64_t arena_begin = 0;  ///< where buffers of its cases begin
};

struct Result;

/// A column of the table that a benchmark prints.
struct Column {
  std::string name;
  std::string unit;
  int width = 8;
  std::function<std::string(const Result&)> text;
};

/// One row of output. Before it is measured the independent variables are set.
struct Result {
  /// Of its table, up to those that all have (table.h).
  const std::vector<Column>* columns = nullptr;
  db::Measurement measurement;
  std::string redop = "none";
  int root = -1;
  double bus_factor = 1;  ///< of algorithm bandwidth
  double cv = 0;          ///< standard deviation of the samples over their mean
  bool in_mean_of_bus_bandwidth = false;
};

struct Case {
  Result row;
  std::function<void()> prepare;         ///< untimed, once: fills what is read
  TimedCalls timed;                      ///< returns when the calls have finished
  std::function<std::int64_t()> verify;  ///< one more call on fresh values: wrong elements here
  // Of those that can run beside another (interference.h):
  std::function<void()> call = {};  ///< one, issued on `stream`
  moe::Stream stream = moe::Stream::compute;
  double shortest_sample_s = 0;                     ///< where that is longer than the sampling's
  std::function<void(Result&)> complete = nullptr;  ///< says what else the samples have shown
};

struct Plan {
  std::string name;  ///< "all_reduce/1048576"
  std::function<Case()> make;
};

/// Times the case on all ranks and then verifies it: the same Result on every rank.
Result measure(const Bench& bench, Case subject);

/// Seconds that `calls` calls of `call` take, which enqueues on `stream`, from the first one's
/// issue until the device has done the last.
double timed_on_device(moe::Backend& backend, moe::Stream stream, int calls,
                       const std::function<void()>& call);

/// Addresses in the backend's arena for buffers of these sizes, from arena_begin on.
std::vector<std::byte*> place(const Bench& bench, const std::vector<std::int64_t>& bytes);
/// Where the buffers end that place() finds.
std::int64_t arena_end(const Bench& bench, const std::vector<std::int64_t>& bytes);

/// As nccl-tests prints it: "float", "double", "int32".
std::string_view dtype_name(moe::DType dtype);

}  // namespace microbench
