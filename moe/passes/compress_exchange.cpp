#include "moe/passes/compress_exchange.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/way_out.h"

namespace moe {
namespace {

/// Adds a tensor that holds the rows of `rows` in packed form.
TensorId add_packed(Program& program, TensorId rows, WireFormat format) {
  Tensor packed = program.tensors[rows];
  packed.name += fmt::format(".{}", wire_format_name(format));
  packed.dtype = DType::i32;
  packed.columns = packed_columns(format, packed.columns);
  program.tensors.push_back(std::move(packed));
  return static_cast<TensorId>(program.tensors.size()) - 1;
}

}  // namespace

Program apply(Program program, const CompressExchange& compress) {
  const auto refuse = [&](std::string_view why, std::string way_out, std::string op = {}) {
    throw Refusal(
        fmt::format("compress_exchange: {} (layer {}, {})", wire_format_name(compress.format),
                    compress.layer, phase_name(compress.phase)),
        why, std::move(way_out), {std::move(op), compress.layer});
  };
  std::vector<Op> ops;
  bool any = false;
  for (Op& op : std::exchange(program.ops, {})) {
    if (op.layer != compress.layer || op.phase != compress.phase ||
        !std::holds_alternative<AllToAll>(op.kind)) {
      ops.push_back(std::move(op));
      continue;
    }
    any = true;
    const Use from = op.reads.at(0), to = op.writes.at(0);
    if (program.tensors[from.tensor].dtype == DType::i32) {
      refuse("the rows are packed already", "expected one format for each exchange", op.name);
    }
    if (compress.format == WireFormat::bf16 && program.tensors[from.tensor].dtype == DType::bf16) {
      refuse("the rows are in bf16 already",
             "expected format = \"int8\", or precision = \"f32\" in the model", op.name);
    }
    Op pack = op, unpack = op;
    pack.kind = PackRows{compress.format};
    pack.name = "pack for " + op.name;
    unpack.kind = UnpackRows{compress.format};
    unpack.name = "unpack from " + op.name;
    pack.stream = unpack.stream = Stream::compute;
    op.reads[0].tensor = pack.writes[0].tensor = add_packed(program, from.tensor, compress.format);
    op.writes[0].tensor = unpack.reads[0].tensor = add_packed(program, to.tensor, compress.format);
    pack.writes[0].slice = from.slice;
    unpack.reads[0].slice = to.slice;
    for (Op* one : {&pack, &op, &unpack}) ops.push_back(std::move(*one));
  }
  program.ops = std::move(ops);
  if (!any) {
    refuse("no all-to-all there",
           expected_layer(
               program, [](const Op& op) { return std::holds_alternative<AllToAll>(op.kind); },
               "expected a layout with ep of at least 2, and route = \"flat\""));
  }
  return program;
}

std::string subject(const CompressExchange& compress) {
  return fmt::format("{} {}", compress.layer, phase_name(compress.phase));
}

void write(nlohmann::json& object, const CompressExchange& compress) {
  object["layer"] = compress.layer;
  object["phase"] = phase_name(compress.phase);
  object["format"] = wire_format_name(compress.format);
}

CompressExchange CompressExchange::read(const InputObject& input) {
  CompressExchange compress;
  compress.layer = read_layer(input);
  compress.phase = read_phase(input);
  compress.format = static_cast<WireFormat>(
      input.member("format", "a format")
          .one_of({wire_format_name(WireFormat::bf16), wire_format_name(WireFormat::int8)}));
  return compress;
}

}  // namespace moe
