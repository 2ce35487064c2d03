#include "db/timeline/op_label.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>

namespace db {

namespace {

std::string with_chunk(std::string_view name, const TimelineOp& op) {
  if (op.chunks <= 1) return std::string(name);
  return fmt::format("{} {}", name, chunk_text(op));
}

std::string name_of(const TimelineOp& op) {
  if (!op.name.empty()) return op.name;
  return op.kind.empty() ? fmt::format("op {}", op.op) : op.kind;
}

}  // namespace

std::string_view base_kind(std::string_view kind) {
  for (const std::string_view suffix : {"_input_gradient", "_weight_gradient", "_gradient"}) {
    if (kind.ends_with(suffix)) return kind.substr(0, kind.size() - suffix.size());
  }
  return kind;
}

std::string legend_kind(const TimelineOp& op) {
  const std::string_view kind = base_kind(op.kind);
  return kind.empty() ? "no kind" : std::string(kind);
}

std::string op_label(const TimelineOp& op) { return with_chunk(name_of(op), op); }

std::string op_and_place(const TimelineOp& op) {
  std::string where = op.phase;
  if (op.layer >= 0) where += fmt::format("{}layer {}", where.empty() ? "" : ", ", op.layer);
  return where.empty() ? op.name : fmt::format("{} ({})", op.name, where);
}

std::string chunk_text(const TimelineOp& op) {
  // A damaged database may number the last chunk that an int can.
  return op.chunks > 1 ? fmt::format("{}/{}", std::int64_t{op.chunk} + 1, op.chunks) : "";
}

std::string short_op_label(const TimelineOp& op) {
  const std::string name = name_of(op);
  const bool repeats_kind = !op.kind.empty() && name.size() > op.kind.size() + 1 &&
                            name.starts_with(op.kind) && name[op.kind.size()] == ' ';
  return with_chunk(repeats_kind ? name.substr(op.kind.size() + 1) : name, op);
}

std::vector<std::string> op_labels(const TimelineOp& op) {
  std::vector<std::string> labels = {op_label(op), short_op_label(op)};
  const std::string name = name_of(op);
  const bool exchanges = op.kind == "all_to_all";
  for (const std::string_view direction : {"dispatch", "combine"}) {
    if (!exchanges || name.find(direction) == std::string::npos) continue;
    const auto letter = static_cast<char>(std::toupper(static_cast<unsigned char>(direction[0])));
    labels.push_back(with_chunk(direction, op));
    labels.push_back(with_chunk(direction.substr(0, 4), op));
    labels.push_back(with_chunk(std::string(1, letter), op));
    labels.emplace_back(1, letter);
    return labels;
  }
  if (op.chunks > 1) labels.push_back(chunk_text(op));
  return labels;
}

}  // namespace db
