#include "moe/passes/assign_stream.h"

#include <fmt/format.h>

#include <stdexcept>

namespace moe {

Program assign_stream(Program program, const StreamAssignment& assignment) {
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("assign_stream: {} on {}: {}", assignment.kind,
                                            stream_name(assignment.stream), why));
  };
  if (!is_kind_name(assignment.kind)) refuse("no op is called that");
  for (Op& op : program.ops) {
    if (kind_name(op) != assignment.kind) continue;
    if (!is_communication(op)) refuse("only communication may leave the compute stream");
    if (std::holds_alternative<ExchangeCounts>(op.kind)) refuse("the host reads the counts");
    if (assignment.stream == Stream::host || assignment.stream == Stream::copy)
      refuse("collectives run on compute, inter_node or intra_node");
    op.stream = assignment.stream;
  }
  return program;
}

}  // namespace moe
