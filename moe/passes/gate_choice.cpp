#include "moe/passes/gate_choice.h"

#include <map>
#include <utility>

namespace moe {
namespace {

enum ChoiceResult : std::size_t { kExpert, kWeight, kSlot, kOffsets, kDemand };

}  // namespace

bool chooses_experts(const Op& op) {
  return std::holds_alternative<SelectExperts>(op.kind) ||
         std::holds_alternative<ChooseTokens>(op.kind);
}

std::optional<Refusal> refusal_to_cut(const Op& op) {
  if (const auto* select = std::get_if<SelectExperts>(&op.kind)) {
    return select->refusal_to_cut();
  }
  if (!std::holds_alternative<ChooseTokens>(op.kind)) return {};
  return Refusal("", "its gate looks at whole capacity groups",
                 "expected a gate that takes token by token");
}

bool deals_out_copies(const Op& op) {
  return std::holds_alternative<SelectExperts>(op.kind) ||
         std::holds_alternative<SplitSelection>(op.kind);
}

bool describes_copies(const Op& op) {
  return deals_out_copies(op) || counts_of(op) != nullptr ||
         std::holds_alternative<PadOffsets>(op.kind);
}

bool belongs_to_routing(const Program& program, const Op& op) {
  return uses_routed_rows(program, op) || chooses_experts(op) || describes_copies(op);
}

void split_selection(Program& program, std::size_t choice) {
  Op split = program.ops[choice];
  const std::vector<Use> chosen = std::exchange(split.writes, {});
  std::map<TensorId, TensorId> dealt;
  for (const ChoiceResult result : {kSlot, kOffsets, kDemand}) {
    const TensorId whole = chosen[result].tensor;
    Tensor tensor = program.tensors[whole];
    tensor.name += ".split";
    dealt[whole] = static_cast<TensorId>(program.tensors.size());
    split.writes.push_back({dealt[whole]});
    program.tensors.push_back(std::move(tensor));
  }
  const auto columns = [&](ChoiceResult result) {
    const TensorId tensor = chosen[result].tensor;
    return static_cast<int>(program.tensors[tensor].columns);
  };
  split.kind = SplitSelection{.experts = columns(kDemand),
                              .choices = columns(kExpert),
                              .drops = std::holds_alternative<SelectExperts>(split.kind)};
  split.name = "split selection";
  split.reads = {chosen[kExpert], chosen[kSlot]};
  for (std::size_t i = choice + 1; i < program.ops.size(); ++i) {
    for (Use& use : program.ops[i].reads) {
      if (const auto own = dealt.find(use.tensor); own != dealt.end()) use.tensor = own->second;
    }
  }
  program.ops.insert(program.ops.begin() + static_cast<std::ptrdiff_t>(choice) + 1,
                     std::move(split));
}

}  // namespace moe
