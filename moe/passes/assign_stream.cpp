#include "moe/passes/assign_stream.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "moe/input/value.h"

namespace moe {
namespace {

constexpr std::array kStreams{Stream::compute, Stream::inter_node, Stream::intra_node};

}  // namespace

Program apply(Program program, const StreamAssignment& assignment) {
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("assign_stream: {} on {}: {}",
                                            shortened(assignment.kind),
                                            stream_name(assignment.stream), why));
  };
  if (!is_kind_name(assignment.kind)) refuse("no op is called that");
  if (assignment.stream == Stream::host || assignment.stream == Stream::copy) {
    refuse("collectives run on compute, inter_node or intra_node");
  }
  for (Op& op : program.ops) {
    if (kind_name(op) != assignment.kind) continue;
    if (facts_of(op).executor == Executor::kernel) {
      refuse("only communication may leave the compute stream");
    }
    if (facts_of(op).executor == Executor::host) refuse("the host reads what it exchanges");
    if (op.stream != Stream::compute) {
      refuse(fmt::format("it is on {} already", stream_name(op.stream)));
    }
    op.stream = assignment.stream;
  }
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
