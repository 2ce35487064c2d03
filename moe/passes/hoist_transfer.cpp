#include "moe/passes/hoist_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/move_ops.h"
#include "moe/passes/way_out.h"

namespace moe {
namespace {

constexpr std::array<std::string_view, 2> kTransfers{"send", "return"};

std::string_view name_of(Transfer transfer) {
  return kTransfers[static_cast<std::size_t>(transfer)];
}

[[noreturn]] void refuse_hoisting(const HoistTransfer& hoisting, std::string_view why,
                                  std::string way_out, std::string op = {}) {
  throw Refusal(
      fmt::format("hoist_transfer: {} of layer {}", name_of(hoisting.transfer), hoisting.layer),
      why, std::move(way_out), {std::move(op), hoisting.layer});
}

/// The position of the transfer that is to be cut.
std::size_t find_transfer(const Program& program, const HoistTransfer& hoisting) {
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const bool wanted = hoisting.transfer == Transfer::send
                            ? std::holds_alternative<SendExperts>(op.kind)
                            : std::holds_alternative<ReturnGradients>(op.kind);
    if (!wanted || op.layer != hoisting.layer) continue;
    if (depends_on_counts(op)) {
      refuse_hoisting(hoisting, "its replicas are chosen after the gate (after_gate)",
                      "expected replicate_experts with replicas", op.name);
    }
    if (op.chunk.count > 1) {
      refuse_hoisting(hoisting, "it is cut already", "expected one decision for each transfer",
                      op.name);
    }
    return i;
  }
  refuse_hoisting(
      hoisting, "no experts are replicated there (replicate_experts)",
      expected_layer(
          program, [](const Op& op) { return std::holds_alternative<SendExperts>(op.kind); },
          "expected replicate_experts of the layer"));
}

/// The rows of an expert in its largest tensor.
std::int64_t most_block_rows(const Program& program, const Op& op) {
  std::int64_t most = 0;
  std::visit(
      [&](const auto& kind) {
        if constexpr (MovesExperts<std::decay_t<decltype(kind)>>) {
          const ExpertSlots slots = kind.slots(program.groups.layout.expert, {}, {});
          for (std::size_t i = 0; i < op.writes.size(); ++i) {
            const Tensor& tensor = program.tensors[op.reads[i].tensor];
            most = std::max(most, kind.block_rows(tensor.rows, slots));
          }
        }
      },
      op.kind);
  return most;
}

int sum_of_shares(const Program& program, const Op& op, const HoistTransfer& hoisting) {
  if (hoisting.slices.empty()) refuse_hoisting(hoisting, "no slices", "expected at least one");
  const std::int64_t rows = most_block_rows(program, op);
  std::int64_t sum = 0;
  for (const TransferSlice& slice : hoisting.slices) {
    if (slice.share < 1) {
      refuse_hoisting(hoisting, fmt::format("a share of {}", slice.share), "expected at least 1");
    }
    sum += slice.share;
  }
  if (static_cast<std::int64_t>(hoisting.slices.size()) > rows) {
    refuse_hoisting(
        hoisting, fmt::format("{} slices, but an expert has {} rows", hoisting.slices.size(), rows),
        fmt::format("expected at most {}", rows), op.name);
  }
  if (sum > std::numeric_limits<int>::max()) {
    refuse_hoisting(hoisting, fmt::format("shares of {} together", sum),
                    fmt::format("expected at most {}", std::numeric_limits<int>::max()));
  }
  return static_cast<int>(sum);
}

/// The op right after which a slice is to run. Throws where it may not run there.
std::size_t target_of(const Program& program, std::size_t transfer, const HoistTransfer& hoisting,
                      const TransferSlice& slice) {
  const std::string where =
      fmt::format("after {} of {}", exchange_place_name(*slice.after), slice.at);
  const Phase phase = hoisting.transfer == Transfer::send ? Phase::forward : Phase::backward;
  const auto refuse = [&](std::string_view why, std::string op = {}) {
    refuse_hoisting(
        hoisting, fmt::format("{}: {}", where, why),
        expected_place(program, phase, program.ops[transfer].stage,
                       allowed_places(program, {transfer}), "expected a slice without a place"),
        std::move(op));
  };
  const auto place = place_of(program, phase, *slice.after, slice.at);
  if (!place) refuse(fmt::format("no such place in the {} phase", phase_name(phase)));
  if (program.ops[*place].stage != program.ops[transfer].stage) {
    refuse("another pipeline stage has it");
  }
  if (const auto other = refusing_op(program, {transfer}, *place)) {
    refuse(fmt::format("\"{}\" stands between, and one uses what the other makes",
                       program.ops[*other].name),
           program.ops[*other].name);
  }
  return *place;
}

Op cut_slice_of(Op op, int index, int slices, Slice share) {
  std::visit(
      [&](auto& kind) {
        if constexpr (MovesExperts<std::decay_t<decltype(kind)>>) kind.share = share;
      },
      op.kind);
  op.chunk = {index, slices};
  // The rows that earlier slices have brought stay.
  if (index > 0) op.reads.insert(op.reads.end(), op.writes.begin(), op.writes.end());
  return op;
}

}  // namespace

Program apply(Program program, const HoistTransfer& hoisting) {
  const std::size_t transfer = find_transfer(program, hoisting);
  const Op whole = program.ops[transfer];
  const int shares = sum_of_shares(program, whole, hoisting);
  // Ops that stood after a place follow the slice there. A slice without a place stands where the
  // whole transfer stood.
  std::vector<std::pair<std::size_t, Op>> slices;
  int before = 0;
  for (const TransferSlice& slice : hoisting.slices) {
    const int index = static_cast<int>(slices.size());
    const std::size_t target =
        slice.after ? target_of(program, transfer, hoisting, slice) : transfer;
    if (!slices.empty() && target < slices.back().first) {
      refuse_hoisting(hoisting, fmt::format("slice {} would run before slice {}", index + 1, index),
                      "expected them in the order in which they run");
    }
    const Slice share{before, shares, slice.share};
    slices.emplace_back(
        target, cut_slice_of(whole, index, static_cast<int>(hoisting.slices.size()), share));
    before += slice.share;
  }
  std::vector<Op> ops;
  std::size_t next = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (i != transfer) ops.push_back(std::move(program.ops[i]));
    for (; next < slices.size() && slices[next].first == i; ++next) {
      ops.push_back(std::move(slices[next].second));
    }
  }
  program.ops = std::move(ops);
  return program;
}

std::string subject(const HoistTransfer& hoisting) {
  return fmt::format("{} {}", hoisting.layer, name_of(hoisting.transfer));
}

void write(nlohmann::json& object, const HoistTransfer& hoisting) {
  object["layer"] = hoisting.layer;
  object["transfer"] = name_of(hoisting.transfer);
  object["slices"] = nlohmann::json::array();
  for (const TransferSlice& slice : hoisting.slices) {
    auto& one = object["slices"].emplace_back(nlohmann::json{{"share", slice.share}});
    if (!slice.after) continue;
    one["after"] = exchange_place_name(*slice.after);
    one["at"] = slice.at;
  }
}

HoistTransfer HoistTransfer::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  HoistTransfer hoisting;
  hoisting.layer = read_layer(input);
  hoisting.transfer = static_cast<Transfer>(
      input.member("transfer", "what is sent").one_of({kTransfers[0], kTransfers[1]}));
  for (const InputValue& entry :
       input.list(key_of(input, "slices", "pieces"), "a list of slices")) {
    const InputObject object = entry.object("a slice");
    TransferSlice& slice = hoisting.slices.emplace_back();
    if (object.has("share")) slice.share = static_cast<int>(object.integer("share", 1, most));
    if (!object.has(key_of(object, "after", "behind"))) continue;
    slice.after = read_place(object);
    slice.at = static_cast<int>(object.integer("at", 0, most));
  }
  return hoisting;
}

}  // namespace moe
