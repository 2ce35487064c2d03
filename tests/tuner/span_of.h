#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "moe/program/program.h"
#include "moe/program/timeline.h"

namespace tuner::test {

/// Times of the op of this name (its chunk-th) on a rank.
inline moe::OpSpan span_of(const moe::Program& program, const moe::Timeline& timeline, int rank,
                           const std::string& name, int chunk = 0) {
  for (const moe::OpSpan& span : timeline.ranks[static_cast<std::size_t>(rank)]) {
    const moe::Op& op = program.ops[static_cast<std::size_t>(span.op)];
    if (op.name == name && op.chunk.index == chunk) return span;
  }
  ADD_FAILURE() << "no op " << name;
  return {};
}

inline double end_of(const moe::OpSpan& span) { return span.start_s + span.duration_s; }

}  // namespace tuner::test
