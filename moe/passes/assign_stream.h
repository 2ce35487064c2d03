#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Run every communication of one kind (its kind_name) on a stream; or every copy of one on the compute stream.
struct StreamAssignment {
  static constexpr std::string_view name = "assign_stream";
  static constexpr bool changes_results = false;
  std::string kind;
  Stream stream = Stream::compute;
  friend auto operator<=>(const StreamAssignment&, const StreamAssignment&) = default;
  static StreamAssignment read(const InputObject& input);
};
void write(nlohmann::json& object, const StreamAssignment& assignment);
std::string subject(const StreamAssignment& assignment);

/// Runs after everything that cuts ops. Streams only add concurrency: dependencies still order all
/// that touch the same rows, so values do not change. Throws std::invalid_argument when no
/// alternative has that name, when it is neither a communication that a Communicator carries out nor a copy, when it
/// was moved before, or when the stream is not compute, inter_node or intra_node; of a copy, not compute.
Program apply(Program program, const StreamAssignment& assignment);

}  // namespace moe
