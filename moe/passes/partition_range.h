#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Cut a range of forward ops along the batch into `parts` equal ones: of a MoE layer the gate's choice and all up to
/// the tokens put back together, `ops_before` ops ahead of it and `ops_after` behind it, so that the exchange of
/// one part runs beside what is dense of another. A choice that needs the whole batch stays whole: what it chose is dealt
/// out to the parts, and ops_before is 0.  [Lancet 4.1, 5; Figs. 4c, 4d]
struct PartitionRange {
  static constexpr std::string_view name = "partition_range";
  static constexpr bool changes_results = false;
  int layer = 0;
  int parts = 1;
  int ops_before = 0;
  int ops_after = 0;
  friend auto operator<=>(const PartitionRange&, const PartitionRange&) = default;
  static PartitionRange read(const InputObject& input);
};
void write(nlohmann::json& object, const PartitionRange& range);
std::string subject(const PartitionRange& range);

/// Sequences of a rank and micro-batch; parts divide them.
std::int64_t sequences_of(const Program& program);
/// Positions of the forward ops of one micro-batch, ascending.
std::vector<std::size_t> forward_ops(const Program& program, int micro_batch);

/// Runs after what makes ops and before what else cuts them. Each part is routed for itself, with rows of its own, and
/// exchanged as soon as it is (its routing is known when its counts are, Lancet's irregular exchange). The same tokens are
/// dropped as without: the gate hands on how much of every expert's capacity is used (SelectExperts), or has chosen for
/// all parts before the first of them begins (SplitSelection). Ops stand stage by stage, each up to an exchange of rows,
/// part after part in each  [Lancet 5.3]. What needs all tokens and nothing in the range waits for (losses of the gate)
/// follows the range. In backward the layer's ops on routed rows are cut into the same parts. How many rows a part has
/// only its routing tells, with a capacity too: memory is planned as for a dropless layer.
///
/// Throws std::invalid_argument naming the op or the number that does not allow it, and what would.
Program apply(Program program, const PartitionRange& range);

}  // namespace moe
