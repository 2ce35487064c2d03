#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "moe/program/op.h"
#include "moe/program/program.h"

namespace moe {

/// Cut the exchange and the experts of one MoE layer into chunks, one phase at a time.
/// (passes/pipeline_split.h)
struct PipelineSplit {
  int layer = 0;
  Phase phase = Phase::forward;
  int chunks = 1;
  friend bool operator==(const PipelineSplit&, const PipelineSplit&) = default;
};

/// Run every op of this kind (its kind_name) on this stream. (passes/assign_stream.h)
struct StreamAssignment {
  std::string kind;
  Stream stream = Stream::compute;
  friend bool operator==(const StreamAssignment&, const StreamAssignment&) = default;
};

/// Decisions only: what `apply` turns a Program into another Program with. The empty Schedule
/// leaves the Program as it is: one stream, nothing overlapped.
struct Schedule {
  std::string planner;
  std::vector<PipelineSplit> pipelines;
  std::vector<StreamAssignment> streams;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// Applies each decision through its rewrite, pipelines before streams. Throws
/// std::invalid_argument with the reason where a decision is not legal for this Program.
Program apply(Program program, const Schedule& schedule);

/// Canonical JSON: equal schedules print alike, whatever made them.
std::string to_json(const Schedule& schedule);
/// Throws InputError that says which key is unknown, missing or of the wrong type.
Schedule schedule_from_json(std::string_view json);
/// Reads a file of it. Throws InputError that begins with the file's name.
Schedule load_schedule(const std::string& path);

}  // namespace moe
