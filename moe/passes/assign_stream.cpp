#include "moe/passes/assign_stream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "moe/input/value.h"

namespace moe {
namespace {

constexpr std::array kStreams{Stream::compute, Stream::inter_node, Stream::intra_node};

/// The end of a refusal: "there is none in this iteration: expected one of all_reduce, all_to_all"
std::string none_here(const Program& program) {
  std::set<std::string_view> kinds;
  for (const Op& op : program.ops) {
    if (facts_of(op).executor == Executor::communicator) kinds.insert(kind_name(op));
  }
  return kinds.empty()
             ? std::string("there is none in this iteration, which has no communication to move")
             : fmt::format("there is none in this iteration: expected one of {}",
                           fmt::join(kinds, ", "));
}

}  // namespace

Program apply(Program program, const StreamAssignment& assignment) {
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("assign_stream: {} on {}: {}",
                                            db::shortened(assignment.kind),
                                            stream_name(assignment.stream), why));
  };
  if (!is_kind_name(assignment.kind)) refuse("no op is called that");
  if (assignment.stream == Stream::host || assignment.stream == Stream::copy) {
    refuse("collectives run on compute, inter_node or intra_node");
  }
  bool found = false;
  for (Op& op : program.ops) {
    if (kind_name(op) != assignment.kind) continue;
    found = true;
    if (facts_of(op).activity == Activity::copy) {
      if (assignment.stream != Stream::compute) refuse("copies run on copy or compute");
      op.stream = Stream::compute;
      continue;
    }
    if (facts_of(op).executor == Executor::kernel) {
      refuse("only communication may leave the compute stream");
    }
    if (facts_of(op).executor == Executor::host) refuse("the host reads what it exchanges");
    if (op.stream != Stream::compute) {
      refuse(fmt::format("it is on {} already", stream_name(op.stream)));
    }
    op.stream = assignment.stream;
  }
  if (!found) refuse(none_here(program));
  return program;
}

std::string subject(const StreamAssignment& assignment) { return assignment.kind; }

void write(nlohmann::json& object, const StreamAssignment& assignment) {
  object["kind"] = assignment.kind;
  object["stream"] = stream_name(assignment.stream);
}

StreamAssignment StreamAssignment::read(const InputObject& input) {
  StreamAssignment assignment;
  assignment.kind = input.text("kind", "the kind of an op");
  assignment.stream = kStreams[input.member("stream", "a stream")
                                   .one_of({stream_name(kStreams[0]), stream_name(kStreams[1]),
                                            stream_name(kStreams[2])})];
  return assignment;
}

}  // namespace moe
