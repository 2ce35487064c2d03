#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "moe/program/program.h"

namespace moe {
namespace {

/// A point among the rows of a tensor, as a fraction of them.
struct Point {
  std::int64_t index, count;
};
bool before(Point a, Point b) { return a.index * b.count < b.index * a.count; }
Point begin_of(Slice slice) { return {slice.index, slice.count}; }
Point end_of(Slice slice) { return {slice.index + slice.span, slice.count}; }

/// The writes to one tensor in this iteration, and whether they have been read.
struct History {
  bool window = false;  ///< every slice overwrites the one before it (Tensor::windows)
  struct Write {
    Slice slice;
    bool read = false;
  };
  std::vector<Write> writes;  ///< ordered by begin, each slice once

  void write(Slice slice) {
    if (window && !writes.empty() && !(writes.front().slice == slice)) writes.clear();
    const auto place = std::lower_bound(
        writes.begin(), writes.end(), slice,
        [](const Write& a, Slice b) { return before(begin_of(a.slice), begin_of(b)); });
    for (auto it = place; it != writes.end() && !before(begin_of(slice), begin_of(it->slice));
         ++it) {
      if (it->slice == slice) {
        it->read = false;
        return;
      }
    }
    writes.insert(place, {slice, false});
  }

  /// True where every row of the slice has been written; it then counts as read.
  bool read(Slice slice) {
    Point covered = begin_of(slice);
    for (Write& write : writes) {
      if (!overlap(write.slice, slice)) continue;
      if (before(covered, begin_of(write.slice))) return false;
      write.read = true;
      if (before(covered, end_of(write.slice))) covered = end_of(write.slice);
    }
    return !before(covered, end_of(slice));
  }

  bool loses(Slice slice) const {
    return std::any_of(writes.begin(), writes.end(), [&](const Write& write) {
      return !write.read && (window || overlap(write.slice, slice));
    });
  }
};

/// Calls fail(tensor, type that belongs there) where an operand has another type than the facts of
/// the op say. Operands that are stored have the type of the first of them, and wide ones the wide
/// type to that. Kernels look at integers themselves.
template <class Fail>
void check_types(const Program& program, const Op& op, Fail fail) {
  const OpFacts& facts = facts_of(op);
  std::optional<DType> stored, wide;
  const auto visit = [&](const std::vector<Use>& uses, const Operands& operands, const auto& see) {
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const Tensor& tensor = program.tensors[uses[i].tensor];
      if (tensor.dtype != DType::i32) see(tensor, operands.kept(i));
    }
  };
  const auto visit_all = [&](const auto& see) {
    visit(op.reads, facts.reads, see);
    visit(op.writes, facts.writes, see);
  };
  visit_all([&](const Tensor& tensor, Kept kept) {
    if (kept == Kept::stored && !stored) stored = tensor.dtype;
    if (kept == Kept::wide && !wide) wide = tensor.dtype;
  });
  if (stored) wide = wide_of(*stored);
  visit_all([&](const Tensor& tensor, Kept kept) {
    if (kept == Kept::stored && tensor.dtype != *stored) fail(tensor, *stored);
    if (kept == Kept::wide && tensor.dtype != *wide) fail(tensor, *wide);
  });
}

}  // namespace

void validate(const Program& program) {
  std::vector<History> histories(program.tensors.size());
  for (std::size_t t = 0; t < histories.size(); ++t) {
    histories[t].window = program.tensors[t].windows > 1;
  }
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const auto fail = [&](const std::string& why) {
      throw std::logic_error(fmt::format("op {} \"{}\": {}", i, op.name, why));
    };
    const auto name = [&](const Use& use) { return program.tensors[use.tensor].name; };
    const auto check_use = [&](const Use& use) {
      if (use.tensor < 0 || use.tensor >= static_cast<int>(program.tensors.size())) {
        fail(fmt::format("uses tensor {} of {}", use.tensor, program.tensors.size()));
      }
      const Slice s = use.slice;
      if (s.count < 1 || s.index < 0 || s.span < 1 || s.index > s.count - s.span) {
        fail(fmt::format("uses shares {} to {} of {} of {}, which do not exist", s.index,
                         s.index + s.span, s.count, name(use)));
      }
      const Tensor& tensor = program.tensors[use.tensor];
      if (use.shared_by && (!is_whole(s) || tensor.rows_are != Rows::fixed)) {
        fail(fmt::format("uses a share of a slice of {}", name(use)));
      }
      const bool held = s.count == tensor.windows && s.span == 1 &&
                        s.index % tensor.window_step == tensor.first_window;
      if (tensor.windows > 1 && !held) {
        fail(fmt::format(
            "uses share {} of {} of {}, which holds share {} and every {}-th after it of {}",
            s.index, s.count, name(use), tensor.first_window, tensor.window_step, tensor.windows));
      }
    };
    const OpFacts& facts = facts_of(op);
    if (!facts.reads.allow(op.reads.size()) || !facts.writes.allow(op.writes.size())) {
      fail(fmt::format("has {} reads and {} writes, but a {} has at most {} and {}",
                       op.reads.size(), op.writes.size(), facts.name, facts.reads.most(),
                       facts.writes.most()));
    }
    for (const auto* uses : {&op.reads, &op.writes}) {
      for (const Use& use : *uses) check_use(use);
    }
    check_types(program, op, [&](const Tensor& tensor, DType type) {
      fail(fmt::format("has {} in {} where {} belongs", tensor.name, name_of(tensor.dtype),
                       name_of(type)));
    });
    for (const Use& use : op.reads) {
      const Role role = program.tensors[use.tensor].role;
      const bool written = histories[use.tensor].read(use.slice);
      if ((lives_within_iteration(role) || role == Role::gradient) && !written) {
        fail(fmt::format("reads {} before it is written", name(use)));
      }
    }
    for (const Use& use : op.writes) {
      History& history = histories[use.tensor];
      if (history.loses(use.slice)) {
        fail(fmt::format("overwrites {}, which nothing has read", name(use)));
      }
      history.write(use.slice);
    }
  }
}

}  // namespace moe
