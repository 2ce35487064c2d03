#include "moe/program/program.h"

#include <fmt/format.h>

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
  if (use.slice.count == 1) return name;
  return fmt::format("{}[{}/{}]", name, use.slice.index + 1, use.slice.count);
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

std::vector<std::vector<int>> dependencies(const Program& program) {
  std::vector<std::vector<int>> result(program.ops.size());
  // Accesses of each tensor that a later op may still have to wait for. A write of a whole slice
  // hides earlier accesses that lie within it.
  std::vector<std::vector<Access>> open(program.tensors.size());
  for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
    const Op& op = program.ops[i];
    std::vector<int>& waits = result[i];
    const auto wait_for = [&](const Use& use, bool write) {
      for (const Access& access : open[use.tensor])
        if ((write || access.write) && overlap(access.slice, use.slice)) waits.push_back(access.op);
    };
    for (const Use& use : op.reads) wait_for(use, false);
    for (const Use& use : op.writes) wait_for(use, true);
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());

    for (const Use& use : op.writes) {
      auto& accesses = open[use.tensor];
      std::erase_if(accesses, [&](const Access& access) {
        return use.slice.count == 1 || access.slice == use.slice;
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

void validate(const Program& program) {
  std::vector<std::vector<Slice>> written(program.tensors.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const auto fail = [&](const std::string& why) {
      throw std::logic_error(fmt::format("op {} \"{}\": {}", i, op.name, why));
    };
    const auto check_use = [&](const Use& use) {
      if (use.tensor < 0 || use.tensor >= static_cast<int>(program.tensors.size()))
        fail(fmt::format("uses tensor {} of {}", use.tensor, program.tensors.size()));
      const Slice s = use.slice;
      if (s.count < 1 || s.index < 0 || s.index >= s.count)
        fail(fmt::format("slice {}/{} of {}", s.index, s.count, program.tensors[use.tensor].name));
    };
    for (const Use& use : op.reads) {
      check_use(use);
      const Tensor& tensor = program.tensors[use.tensor];
      if (tensor.role != Role::activation) continue;
      // The slices written so far must cover the slice read: shares of one degree are counted.
      std::int64_t covered = 0;
      const std::int64_t whole = 27720;  // divisible by 1..12
      for (const Slice& s : written[use.tensor]) {
        const std::int64_t begin =
            std::max(whole * s.index / s.count, whole * use.slice.index / use.slice.count);
        const std::int64_t end = std::min(whole * (s.index + 1) / s.count,
                                          whole * (use.slice.index + 1) / use.slice.count);
        covered += std::max<std::int64_t>(0, end - begin);
      }
      const std::int64_t wanted = whole * (use.slice.index + 1) / use.slice.count -
                                  whole * use.slice.index / use.slice.count;
      if (covered < wanted)
        fail(fmt::format("reads {} before it is written", use_text(program, use)));
    }
    for (const Use& use : op.writes) {
      check_use(use);
      auto& slices = written[use.tensor];
      if (std::find(slices.begin(), slices.end(), use.slice) == slices.end())
        slices.push_back(use.slice);
    }
  }
}

std::string to_text(const Program& program) {
  std::string text;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    text += fmt::format(
        "{:3} {:8} {:8} {:>4} {:10} {:29} {} -> {}\n", i, phase_name(op.phase),
        op.layer < 0 ? "" : fmt::format("layer {}", op.layer),
        op.chunk.count == 1 ? "" : fmt::format("{}/{}", op.chunk.index + 1, op.chunk.count),
        stream_name(op.stream), kind_name(op), list_text(program, op.reads),
        list_text(program, op.writes));
  }
  return text;
}

}  // namespace moe
