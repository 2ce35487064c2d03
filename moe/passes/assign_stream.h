#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Puts every communication of one kind (its kind_name), or that of one phase, on a stream, or every
/// copy of one kind on the compute stream. The sum that ends an exchange (exchange_end.h) goes with scatter_rows.
struct StreamAssignment {
  static constexpr std::string_view name = "assign_stream";
  static constexpr std::string_view description =
      "runs all communication of one kind on a stream of its own";
  static constexpr bool changes_results = false;
  std::string kind;
  Stream stream = Stream::compute;
  std::optional<Phase> phase{};  ///< none: all phases
  friend auto operator<=>(const StreamAssignment&, const StreamAssignment&) = default;
  static StreamAssignment read(const InputObject& input);
};
void write(nlohmann::json& object, const StreamAssignment& assignment);
std::string subject(const StreamAssignment& assignment);

/// Runs last, after the decisions that cut or move ops. Streams only add concurrency: dependencies
/// still order all ops that touch the same rows, so values do not change. Throws
/// Refusal where no kind has that name, where the kind is neither a communication of
/// a Communicator nor a copy, where it was moved before, and where the stream is not compute,
/// inter_node or intra_node (for a copy: not compute).
Program apply(Program program, const StreamAssignment& assignment);

}  // namespace moe
