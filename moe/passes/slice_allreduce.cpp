#include "moe/passes/slice_allreduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/op_edits.h"
#include "moe/passes/way_out.h"

namespace moe {
namespace {

std::int64_t rows_reduced(const Program& program, const Op& op) {
  std::int64_t rows = 0;
  for (const Use& use : op.writes) rows += program.tensors[use.tensor].rows;
  return rows;
}

/// The uses of `op`, divided into slices of whole rows in proportion to `shares` of the bytes.
std::vector<std::vector<Use>> cut_by_shares(const Program& program, const Op& op,
                                            const std::vector<int>& shares) {
  const int slices = static_cast<int>(shares.size());
  std::int64_t shares_left = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  std::int64_t left = 0;  // bytes
  for (const Use& use : op.writes) {
    const Tensor& tensor = program.tensors[use.tensor];
    left += tensor.rows * tensor.columns * bytes_of(tensor.dtype);
  }
  std::int64_t rows_left = rows_reduced(program, op);
  std::vector<std::vector<Use>> result;
  std::size_t index = 0;
  std::int64_t row = 0;  // the next row of the tensor at `index`
  for (int slice = 0; slice < slices; ++slice) {
    const int slices_left = slices - slice;
    const int share = shares[slice];
    auto wanted = static_cast<std::int64_t>(static_cast<double>(left) * share /
                                            static_cast<double>(shares_left));
    shares_left -= share;
    std::vector<Use> uses;
    while (index < op.writes.size()) {
      const Tensor& tensor = program.tensors[op.writes[index].tensor];
      const std::int64_t row_bytes = tensor.columns * bytes_of(tensor.dtype);
      // As many rows as come nearest to the share, at least one, and one left for each later slice.
      const std::int64_t fitting = (wanted + row_bytes / 2) / row_bytes;
      const std::int64_t most = std::min(tensor.rows - row, rows_left - (slices_left - 1));
      const std::int64_t taken =
          slices_left == 1 ? tensor.rows - row
                           : std::clamp<std::int64_t>(fitting, uses.empty() ? 1 : 0, most);
      if (taken == 0) break;
      uses.push_back({op.writes[index].tensor,
                      taken == tensor.rows
                          ? Slice{}
                          : Slice{static_cast<int>(row), static_cast<int>(tensor.rows),
                                  static_cast<int>(taken)}});
      row += taken;
      rows_left -= taken;
      wanted -= taken * row_bytes;
      left -= taken * row_bytes;
      if (row < tensor.rows) break;
      row = 0;
      ++index;
    }
    result.push_back(std::move(uses));
  }
  return result;
}

/// Slices the layer's reductions, which are among the ops at `places`.
void slice_layer(const Program& program, const SliceAllReduce& slicing,
                 const std::vector<std::size_t>& places, OpEdits& edits) {
  const auto refuse = [&](std::string_view why, std::string way_out, std::string op = {}) {
    throw Refusal(
        fmt::format("slice_allreduce: {} slices (layer {})", slicing.slices, slicing.layer), why,
        std::move(way_out), {std::move(op), slicing.layer});
  };
  if (slicing.slices < 1) refuse("", "expected at least one slice");
  if (slicing.slices > kMostSlices) {
    refuse("", fmt::format("expected at most {} slices", kMostSlices));
  }
  std::vector<int> shares = slicing.shares;
  if (shares.empty()) shares.assign(static_cast<std::size_t>(slicing.slices), 1);
  if (shares.size() != static_cast<std::size_t>(slicing.slices)) {
    refuse(fmt::format("{} shares", shares.size()), "expected one for each slice");
  }
  if (const int least = *std::min_element(shares.begin(), shares.end()); least < 1) {
    refuse(fmt::format("a share of {}", least), "expected at least 1");
  }
  bool found = false;
  for (const std::size_t place : places) {
    if (program.ops[place].layer != slicing.layer) continue;
    found = true;
    const Op op = edits.take(place);
    if (std::holds_alternative<ReduceShares>(op.kind)) {
      refuse("shard_optimizer reduces its gradients to shares, in one piece",
             "expected one of slice_allreduce and shard_optimizer", op.name);
    }
    if (op.chunk.count != 1) {
      refuse("its gradients are sliced already", "expected one decision for each layer", op.name);
    }
    if (const std::int64_t rows = rows_reduced(program, op); slicing.slices > rows) {
      refuse(fmt::format("\"{}\" reduces {} rows", op.name, rows),
             fmt::format("expected at most {} slices", rows), op.name);
    }
    std::vector<Op> slices;
    for (std::vector<Use>& uses : cut_by_shares(program, op, shares)) {
      Op& slice = slices.emplace_back(op);
      slice.reads = uses;
      slice.writes = std::move(uses);
      slice.chunk = {static_cast<int>(slices.size()) - 1, slicing.slices};
    }
    edits.put_before(place, std::move(slices));
  }
  if (!found) refuse("no gradients are reduced there", expected_reduced_layer(program));
}

}  // namespace

Program apply(Program program, const SliceAllReduce& slicing) {
  return apply_all(std::move(program), std::span(&slicing, 1));
}

Program apply_all(Program program, std::span<const SliceAllReduce> layers) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (reduces_gradients(program.ops[i])) places.push_back(i);
  }
  OpEdits edits(program.ops);
  for (const SliceAllReduce& slicing : layers) slice_layer(program, slicing, places, edits);
  edits.make();
  return program;
}

std::string subject(const SliceAllReduce& slicing) { return std::to_string(slicing.layer); }

void write(nlohmann::json& object, const SliceAllReduce& slicing) {
  object["layer"] = slicing.layer;
  object["slices"] = slicing.slices;
  if (!slicing.shares.empty()) object["shares"] = slicing.shares;
}

SliceAllReduce SliceAllReduce::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  SliceAllReduce slicing;
  slicing.layer = static_cast<int>(input.integer("layer", -1, most));
  slicing.slices = static_cast<int>(input.integer(key_of(input, "slices", "pieces"), 1, most));
  if (input.has("shares")) {
    for (const std::int64_t share : input.member("shares", "a list of shares").integers(1, most)) {
      slicing.shares.push_back(static_cast<int>(share));
    }
  }
  return slicing;
}

}  // namespace moe
