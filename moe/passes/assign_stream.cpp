#include "moe/passes/assign_stream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/exchange_end.h"

namespace moe {
namespace {

constexpr std::array kStreams{Stream::compute, Stream::inter_node, Stream::intra_node};

/// "expected one of all_reduce, all_to_all"
std::string expected_kind(const Program& program) {
  std::set<std::string_view> kinds;
  for (const Op& op : program.ops) {
    if (facts_of(op).executor == Executor::communicator) kinds.insert(kind_name(op));
  }
  return kinds.empty() ? std::string("expected a layout of several ranks")
                       : fmt::format("expected one of {}", fmt::join(kinds, ", "));
}

}  // namespace

Program apply(Program program, const StreamAssignment& assignment) {
  const auto refuse = [&](std::string_view why, std::string way_out, const Op* op = nullptr) {
    throw Refusal(fmt::format("assign_stream: {} on {}", db::shortened(assignment.kind),
                              stream_name(assignment.stream)),
                  why, std::move(way_out), op == nullptr ? Where{} : Where{op->name, op->layer});
  };
  if (!is_kind_name(assignment.kind)) refuse("no op is called that", expected_kind(program));
  if (assignment.stream == Stream::host || assignment.stream == Stream::copy) {
    refuse("", "collectives run on compute, inter_node or intra_node");
  }
  bool found = false;
  for (Op& op : program.ops) {
    if (assignment.kind == ScatterRows::facts.name && ends_exchange(op) &&
        op.phase == assignment.phase.value_or(op.phase)) {
      op.stream = assignment.stream;
    }
    if (kind_name(op) != assignment.kind || op.phase != assignment.phase.value_or(op.phase))
      continue;
    found = true;
    if (facts_of(op).activity == Activity::copy) {
      if (assignment.stream != Stream::compute) refuse("", "copies run on copy or compute", &op);
      op.stream = Stream::compute;
      continue;
    }
    if (facts_of(op).executor == Executor::kernel) {
      refuse("only communication may leave the compute stream", expected_kind(program), &op);
    }
    if (facts_of(op).executor == Executor::host) {
      refuse("the host reads what it exchanges", expected_kind(program), &op);
    }
    if (op.stream != Stream::compute) {
      refuse(fmt::format("it is on {} already", stream_name(op.stream)),
             "expected one stream for a kind", &op);
    }
    op.stream = assignment.stream;
  }
  if (!found) refuse("there is none in this iteration", expected_kind(program));
  return program;
}

std::string subject(const StreamAssignment& assignment) {
  if (!assignment.phase) return assignment.kind;
  return fmt::format("{} {}", assignment.kind, phase_name(*assignment.phase));
}

void write(nlohmann::json& object, const StreamAssignment& assignment) {
  object["kind"] = assignment.kind;
  object["stream"] = stream_name(assignment.stream);
  if (assignment.phase) object["phase"] = phase_name(*assignment.phase);
}

StreamAssignment StreamAssignment::read(const InputObject& input) {
  StreamAssignment assignment;
  assignment.kind = input.text("kind", "the kind of an op");
  assignment.stream = kStreams[input.member("stream", "a stream")
                                   .one_of({stream_name(kStreams[0]), stream_name(kStreams[1]),
                                            stream_name(kStreams[2])})];
  if (input.has("phase")) assignment.phase = read_phase(input);
  return assignment;
}

}  // namespace moe
