#include "moe/program/pass_between_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace moe {
namespace {

/// Builds the list of ops anew, with those that pass rows on.
class Passing {
 public:
  explicit Passing(Program& program)
      : program_(program), made_in_(program.tensors.size(), -1), ops_(std::move(program.ops)) {}

  void run() {
    program_.ops.clear();
    program_.ops.reserve(ops_.size());
    for (Op& op : ops_) {
      if (!continues_block(op)) block_begins_ = program_.ops.size();
      if (op.phase != Phase::update && !comes_once(op)) {
        for (Use& use : op.reads) use.tensor = here(use.tensor, op);
        for (const Use& use : op.writes) made_in_[place(use.tensor)] = op.stage;
      }
      program_.ops.push_back(std::move(op));
    }
  }

 private:
  static std::size_t place(TensorId tensor) { return static_cast<std::size_t>(tensor); }

  bool continues_block(const Op& op) const {
    if (program_.ops.empty()) return false;
    const Op& last = program_.ops.back();
    return last.layer == op.layer && last.phase == op.phase && last.micro_batch == op.micro_batch;
  }

  /// The tensor that `reader` reads in its own stage.
  TensorId here(TensorId tensor, const Op& reader) {
    const int from = made_in_[place(tensor)];
    if (program_.tensors[place(tensor)].role != Role::activation || from < 0 ||
        from == reader.stage) {
      return tensor;
    }
    const auto [passed, is_new] = passed_.try_emplace({tensor, reader.stage});
    if (is_new) passed->second = pass_on(tensor, from, reader);
    return passed->second;
  }

  TensorId pass_on(TensorId tensor, int from, const Op& reader) {
    const auto group = boundary_between(program_.groups, from, reader.stage);
    if (!group) {
      throw std::logic_error(fmt::format("\"{}\" of stage {} reads {} of stage {}", reader.name,
                                         reader.stage, program_.tensors[place(tensor)].name, from));
    }
    const bool forward = reader.phase == Phase::forward;
    const std::string what = forward ? "forward" : "gradient";
    const auto to = static_cast<TensorId>(program_.tensors.size());
    Tensor rows = program_.tensors[place(tensor)];
    rows.name =
        reader.layer < 0 ? "passed." + what : fmt::format("block{}.passed.{}", reader.layer, what);
    if (reader.micro_batch > 0) rows.name += fmt::format("#{}", reader.micro_batch + 1);
    program_.tensors.push_back(std::move(rows));
    made_in_.push_back(reader.stage);
    Op op;
    op.kind = PassOn{reader.stage, *group};
    op.reads = {{tensor, {}}};
    op.writes = {{to, {}}};
    op.name = "pass on " + what;
    if (program_.micro_batches > 1) op.name += fmt::format(" #{}", reader.micro_batch + 1);
    op.layer = reader.layer;
    op.phase = reader.phase;
    op.micro_batch = reader.micro_batch;
    op.stage = from;
    program_.ops.insert(program_.ops.begin() + static_cast<std::ptrdiff_t>(block_begins_),
                        std::move(op));
    return to;
  }

  Program& program_;
  std::vector<int> made_in_;  ///< [tensor]: the stage that wrote it; -1 where none did
  std::map<std::pair<TensorId, int>, TensorId> passed_;  ///< by tensor and stage
  std::size_t block_begins_ = 0;  ///< the first op of the block that is under way
  std::vector<Op> ops_;
};

}  // namespace

std::optional<GroupKind> boundary_between(const Groups& groups, int stage, int other) {
  const int earlier = std::min(stage, other), later = std::max(stage, other);
  if (later - earlier == 1) return boundary_after(earlier);
  if (earlier == 0 && later == groups.layout.pipeline - 1 && later > 0) return GroupKind::ends;
  return std::nullopt;
}

void pass_between_stages(Program& program) { Passing(program).run(); }

void without_passing(Program& program) {
  std::map<TensorId, TensorId> passed;
  std::erase_if(program.ops, [&](const Op& op) {
    if (!std::holds_alternative<PassOn>(op.kind)) return false;
    passed[op.writes.at(0).tensor] = op.reads.at(0).tensor;
    return true;
  });
  for (Op& op : program.ops) {
    for (Use& use : op.reads) {
      for (auto found = passed.find(use.tensor); found != passed.end();
           found = passed.find(use.tensor)) {
        use.tensor = found->second;
      }
    }
  }
}

}  // namespace moe
