#include "moe/program/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace moe {
namespace {

struct Access {
  int op;
  Slice slice;
  bool write;
};

std::string use_text(const Program& program, const Use& use) {
  const std::string& name = program.tensors[use.tensor].name;
  if (use.shared_by) return name + "[share]";
  if (is_whole(use.slice)) return name;
  if (use.slice.span == 1) {
    return fmt::format("{}[{}/{}]", name, use.slice.index + 1, use.slice.count);
  }
  return fmt::format("{}[{}-{}/{}]", name, use.slice.index + 1, use.slice.index + use.slice.span,
                     use.slice.count);
}

/// The stage and the micro-batch of an op, where a Program has several.
std::string place_text(const Program& program, const Op& op) {
  std::string text;
  if (program.stages > 1) text += fmt::format("stage {} ", op.stage);
  if (program.micro_batches > 1) {
    text += op.phase == Phase::update ? "   " : fmt::format("#{:<2}", op.micro_batch + 1);
  }
  return text;
}

std::string list_text(const Program& program, const std::vector<Use>& uses) {
  std::string text;
  for (const Use& use : uses) {
    if (!text.empty()) text += ", ";
    text += use_text(program, use);
  }
  return text;
}

}  // namespace

Program::Program() = default;
Program::Program(const Program&) = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(const Program&) = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

std::int64_t blocks_held(const Shard& shard, std::int64_t rows) {
  return rows / shard.block_rows - shard.empty_blocks;
}

std::int64_t whole_element(const Shard& shard, std::int64_t columns, std::int64_t element) {
  const std::int64_t row = element / columns, column = element % columns;
  const std::int64_t held_block = row / shard.block_rows;
  const std::int64_t block =
      shard.blocks.empty() ? shard.first_block + held_block : shard.blocks[held_block];
  const std::int64_t whole_row = block * shard.of_rows + shard.first_row + row % shard.block_rows;
  std::int64_t place = column, group_begin = 0;  // place: among the columns held of the group
  for (const std::int64_t width : shard.column_groups) {
    const std::int64_t held = width * columns / shard.of_columns;
    if (place < held) {
      return whole_row * shard.of_columns + group_begin +
             width * shard.first_column / shard.of_columns + place;
    }
    place -= held;
    group_begin += width;
  }
  return whole_row * shard.of_columns + shard.first_column + column;
}

std::vector<std::vector<int>> dependencies(const Program& program) {
  std::vector<std::vector<int>> result(program.ops.size());
  // Accesses of each tensor that a later op may still have to wait for. A write of a whole slice
  // hides earlier accesses that lie within it.
  std::vector<std::vector<Access>> open(program.tensors.size());
  for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
    const Op& op = program.ops[i];
    std::vector<int>& waits = result[i];
    const auto wait_for = [&](const Use& use, bool write) {
      for (const Access& access : open[use.tensor]) {
        if ((write || access.write) && meet(program.tensors[use.tensor], access.slice, use.slice)) {
          waits.push_back(access.op);
        }
      }
    };
    for (const Use& use : op.reads) wait_for(use, false);
    for (const Use& use : op.writes) wait_for(use, true);
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());

    for (const Use& use : op.writes) {
      auto& accesses = open[use.tensor];
      std::erase_if(accesses, [&](const Access& access) {
        return is_whole(use.slice) || program.tensors[use.tensor].windows > 1 ||
               access.slice == use.slice;
      });
      accesses.push_back({i, use.slice, true});
    }
    for (const Use& use : op.reads) {
      auto& accesses = open[use.tensor];
      const bool written_here =
          std::any_of(accesses.begin(), accesses.end(), [&](const Access& a) { return a.op == i; });
      if (!written_here) accesses.push_back({i, use.slice, false});
    }
  }
  return result;
}

int experts_in_layer(const Program& program, int layer) {
  for (const Op& op : program.ops) {
    const ExchangeCounts* counts = op.layer == layer ? counts_of(op) : nullptr;
    if (counts != nullptr) return counts->experts;
  }
  return 0;
}

std::map<int, ExpertPlacement> placements(const Program& program) {
  std::map<int, ExpertPlacement> placements;
  for (const auto& [layer, homes] : program.homes) placements[layer].homes = homes;
  for (const Op& op : program.ops) {
    if (const auto* sent = std::get_if<SendExperts>(&op.kind)) {
      placements[op.layer] = sent->placement;
    }
  }
  return placements;
}

std::vector<int> loss_ops(const Program& program) {
  std::vector<bool> is_loss(program.tensors.size());
  for (const auto* losses : {&program.losses, &program.auxiliary_losses, &program.z_losses}) {
    for (const TensorId loss : *losses) {
      if (loss >= 0) is_loss[loss] = true;
    }
  }
  std::vector<int> ops;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto& writes = program.ops[i].writes;
    const bool writes_loss = std::any_of(writes.begin(), writes.end(),
                                         [&](const Use& use) { return is_loss[use.tensor]; });
    if (writes_loss) ops.push_back(static_cast<int>(i));
  }
  return ops;
}

bool is_cut(const Program& program, const Parameter& parameter) {
  const Shard& shard = parameter.shard;
  return shard.block_rows < shard.of_rows ||
         program.tensors[parameter.value].columns < shard.of_columns;
}

bool uses_routed_rows(const Program& program, const Op& op) {
  const auto routed = [&](const Use& use) {
    return program.tensors[use.tensor].rows_are != Rows::fixed;
  };
  return std::any_of(op.reads.begin(), op.reads.end(), routed) ||
         std::any_of(op.writes.begin(), op.writes.end(), routed);
}

std::string to_text(const Program& program) {
  std::string text;
  for (const auto& [layer, homes] : program.homes) {
    text += fmt::format("layer {}: experts belong to ranks {}\n", layer, fmt::join(homes, " "));
  }
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const Slice share = share_of(op);
    text += fmt::format("{:3} {}{:8} {:8} {:>4} {:10} {:29} {} -> {}\n", i, place_text(program, op),
                        phase_name(op.phase), op.layer < 0 ? "" : fmt::format("layer {}", op.layer),
                        share.count == 1 ? "" : fmt::format("{}/{}", share.index + 1, share.count),
                        stream_name(op.stream), kind_name(op), list_text(program, op.reads),
                        list_text(program, op.writes));
  }
  return text;
}

}  // namespace moe
