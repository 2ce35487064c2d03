#include <algorithm>
#include <cstdlib>

#include "db/console/format_rows.h"
#include "db/console/log.h"
#include "moe/backend/cuda/fused_attention.cuh"
#include "moe/errors.h"

namespace moe {
namespace {

std::string bytes_text(std::int64_t bytes) { return db::format_cell("bytes", bytes); }

std::string text_of(const FusedSizes& s, bool gradient) {
  return std::string(gradient ? "attention gradient" : "attention") + " of " +
         std::to_string(s.sequences) + " x " + std::to_string(s.length) + " tokens, " +
         std::to_string(s.heads) + " heads of " + std::to_string(s.head_width) + " over " +
         std::to_string(s.key_value_heads) +
         (s.value_width == s.head_width ? "" : " of values of " + std::to_string(s.value_width));
}

/// The most of `count` that each of so many calls takes.
std::int64_t part_of(std::int64_t count, std::int64_t calls) { return (count + calls - 1) / calls; }
/// How many of `count` have room, where all of them take `bytes`; calls are made equal.
std::int64_t most_in_a_call(std::int64_t count, std::int64_t bytes, std::int64_t room) {
  const std::int64_t most = std::min(count, count * room / bytes);
  return most < 1 ? 0 : part_of(count, part_of(count, most));
}
/// With one more call; 0 where each had one.
std::int64_t fewer_in_a_call(std::int64_t count, std::int64_t before) {
  return std::min(before - 1, part_of(count, part_of(count, before) + 1));
}

FusedSizes with_sequences(FusedSizes sizes, std::int64_t sequences) {
  sizes.sequences = sequences;
  return sizes;
}
FusedSizes with_key_value_heads(FusedSizes sizes, std::int64_t count) {
  sizes.heads = sizes.heads / sizes.key_value_heads * count;
  sizes.key_value_heads = count;
  return sizes;
}

/// Covers `count` by calls of `step`, the last of which may be smaller. `part(n)` are the sizes of n,
/// `call(plan, first)` is the call from `first` on. False where a plan is refused or takes more than
/// there is.
template <class Part, class Call>
bool cover(FusedLibrary& library, bool gradient, std::int64_t room, std::int64_t count,
           std::int64_t step, const Part& part, const Call& call, FusedCalls& calls) {
  std::int64_t planned = 0;
  for (std::int64_t first = 0; first < count; first += step) {
    const std::int64_t size = std::min(step, count - first);
    if (size != planned) {
      MadePlan made = library.plan(part(size), gradient);
      if (made.plan == nullptr) {
        calls.refusal = std::move(made.refusal);
        return false;
      }
      if (made.plan->workspace_bytes() > room) {
        calls.refusal = "it needs " + bytes_text(made.plan->workspace_bytes()) +
                        " of workspace for the least part, and has " + bytes_text(room);
        return false;
      }
      calls.plans.push_back(std::move(made.plan));
      planned = size;
    }
    calls.calls.push_back(call(calls.plans.back().get(), first));
  }
  return true;
}

}  // namespace

FusedCalls plan_calls(FusedLibrary& library, const FusedSizes& whole, bool gradient,
                      std::int64_t workspace_bytes) {
  FusedCalls calls;
  MadePlan made = library.plan(whole, gradient);
  if (made.plan == nullptr) {
    calls.refusal = std::move(made.refusal);
    return calls;
  }
  const std::int64_t all_bytes = made.plan->workspace_bytes();
  if (all_bytes <= workspace_bytes) {
    calls.calls.push_back({made.plan.get(), 0, 0});
    calls.plans.push_back(std::move(made.plan));
    return calls;
  }
  made.plan.reset();
  // What a part takes is nearly its share of the whole, so fewer are tried where it is a bit more.
  for (std::int64_t step = most_in_a_call(whole.sequences, all_bytes, workspace_bytes); step > 0;
       step = fewer_in_a_call(whole.sequences, step)) {
    calls = {};
    if (cover(
            library, gradient, workspace_bytes, whole.sequences, step,
            [&](std::int64_t size) { return with_sequences(whole, size); },
            [](FusedPlan* plan, std::int64_t first) {
              return FusedCalls::Call{plan, first, 0};
            },
            calls)) {
      return calls;
    }
  }
  const FusedSizes one = with_sequences(whole, 1);
  for (std::int64_t step = std::max<std::int64_t>(
           1, most_in_a_call(whole.key_value_heads, all_bytes / whole.sequences, workspace_bytes));
       step > 0; step = fewer_in_a_call(whole.key_value_heads, step)) {
    calls = {};
    if (!cover(
            library, gradient, workspace_bytes, whole.key_value_heads, step,
            [&](std::int64_t size) { return with_key_value_heads(one, size); },
            [](FusedPlan* plan, std::int64_t first) {
              return FusedCalls::Call{plan, 0, first};
            },
            calls)) {
      continue;
    }
    const std::vector<FusedCalls::Call> of_one = calls.calls;
    for (std::int64_t sequence = 1; sequence < whole.sequences; ++sequence) {
      for (FusedCalls::Call call : of_one) {
        call.sequence = sequence;
        calls.calls.push_back(call);
      }
    }
    return calls;
  }
  calls.plans.clear();
  calls.calls.clear();
  return calls;
}

std::unique_ptr<FusedAttention> FusedAttention::chosen() {
  const char* const given = std::getenv("MOELAB_ATTENTION");
  const std::string choice = given == nullptr ? "" : given;
  if (choice == "tiles") return nullptr;
  if (!choice.empty() && choice != "fused") {
    throw InputError("MOELAB_ATTENTION=" + choice + ": expected fused or tiles");
  }
  std::unique_ptr<FusedLibrary> library = open_fused_library();
  if (library == nullptr && choice == "fused") {
    throw Unavailable("MOELAB_ATTENTION=fused: cuDNN is not there");
  }
  return library == nullptr ? nullptr : std::make_unique<FusedAttention>(std::move(library));
}

const std::vector<FusedCalls::Call>& FusedAttention::calls(const FusedSizes& whole, bool gradient,
                                                           std::int64_t workspace_bytes) {
  const auto [found, added] =
      planned_.try_emplace({whole, gradient, workspace_bytes}, FusedCalls{});
  if (added) {
    found->second = plan_calls(*library_, whole, gradient, workspace_bytes);
    if (found->second.calls.empty()) {
      db::log_info(text_of(whole, gradient) + ": computed by tiles: " + fused_library_name() +
                   ": " + found->second.refusal);
    }
  }
  return found->second.calls;
}

}  // namespace moe
