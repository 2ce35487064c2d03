#include "viewer/model/op_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace viewer {

namespace {

bool contains_any(std::string_view text, const auto& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

constexpr std::array<std::string_view, 12> kCommunication = {
    "all_to_all", "all_reduce", "all_gather", "reduce_scatter", "broadcast", "exchange_counts",
    "send",       "recv",       "AllReduce",  "AllGather",      "AllToAll",  "ReduceScatter"};
std::string with_chunk(std::string_view name, const db::TimelineOp& op) {
  if (op.chunks <= 1) return std::string(name);
  return fmt::format("{} {}/{}", name, op.chunk + 1, op.chunks);
}

constexpr std::array<std::string_view, 4> kCopy = {"copy", "memcpy", "Memcpy", "memset"};

}  // namespace

OpClass classify(const db::TimelineOp& op) {
  if (contains_any(op.kind, kCommunication)) return OpClass::communication;
  if (contains_any(op.kind, kCopy)) return OpClass::copy;
  if (op.stream == "inter_node" || op.stream == "intra_node") return OpClass::communication;
  if (op.stream == "copy") return OpClass::copy;
  if (op.stream == "host") return OpClass::host;
  return OpClass::computation;
}

std::string_view class_name(OpClass op_class) {
  switch (op_class) {
    case OpClass::computation:
      return "computation";
    case OpClass::communication:
      return "communication";
    case OpClass::copy:
      return "copy";
    case OpClass::host:
      return "host";
  }
  return "";
}

std::string_view base_kind(std::string_view kind) {
  for (const std::string_view suffix : {"_input_gradient", "_weight_gradient", "_gradient"}) {
    if (kind.ends_with(suffix)) return kind.substr(0, kind.size() - suffix.size());
  }
  return kind;
}

std::string op_label(const db::TimelineOp& op) { return with_chunk(op.name, op); }

std::string short_op_label(const db::TimelineOp& op) {
  const std::string_view name = op.name;
  const bool repeats_kind =
      name.size() > op.kind.size() + 1 && name.starts_with(op.kind) && name[op.kind.size()] == ' ';
  return with_chunk(repeats_kind ? name.substr(op.kind.size() + 1) : name, op);
}

}  // namespace viewer
