#include "tests/tuner/planners/lancet/axis_constraints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

#include "moe/passes/partition_range.h"
#include "moe/program/program_builder.h"
#include "tests/tuner/planners/lancet/range_axes.h"

namespace tuner::axis_constraints_test {
namespace {

using moe::Op;
using moe::Program;
using moe::TensorId;

constexpr std::string_view kLetters =
    "NBCKIL";  ///< none, batch, columns, capacity, irregular, later

/// The axes of the operands of ops, by hand, reads before writes: the paper's F.
const std::map<std::string_view, std::vector<std::string>> kAllowed{
    {"linear", {"BNB", "NCC"}},       {"softmax", {"BB"}},
    {"select_experts", {"BBBBBIII"}}, {"exchange_counts", {"III"}},
    {"permute", {"BBBII", "NNNNK"}},  {"all_to_all", {"II", "KK", "CC"}},
    {"combine", {"IBBBIB"}},          {"add", {"BBB", "CCC"}},
    {"load_balancing_loss", {}},      {"router_z_loss", {}},
};
/// A model with a gate that needs the whole batch.
const std::string kWholeChoice = "NNBBBIII";
/// On routed rows, and on others.
const std::vector<std::string> kGeluOfRouted{"II", "KK", "CC"}, kGeluOfTokens{"BB", "CC"};

/// A gate, its loss, experts that are a Gelu, and dense ops before and after: 4 tokens of one
/// sequence each.
struct GateLayer {
  Program program;
  std::vector<TensorId> of_tokens, routed;
};

GateLayer gate_layer(moe::Drop drop) {
  using namespace moe;
  ProgramBuilder build(DType::f32);
  const TensorId ids = build.input("ids", 4);
  build.program.tokens = {ids};
  GateLayer layer;
  const auto tokens = [&](const char* name, std::int64_t columns) {
    return layer.of_tokens.emplace_back(build.activation(name, 4, columns));
  };
  const auto counts = [&](const char* name, std::int64_t columns) {
    return build.integers(name, 1, columns);
  };
  const auto routed = [&](const char* name, Rows rows) {
    return layer.routed.emplace_back(build.routed(name, rows, 0, 2, 0));
  };
  const auto forward = [&](OpKind kind, const char* name, std::vector<TensorId> reads,
                           std::vector<TensorId> writes) {
    build.op(std::move(kind), name, std::move(reads), std::move(writes), 0, Phase::forward);
  };
  const TensorId w_in = build.parameter({.name = "w_in", .rows = 2, .columns = 2}),
                 w_gate = build.parameter({.name = "w_gate", .rows = 2, .columns = 2});
  const TensorId begin = tokens("begin", 2), x = tokens("x", 2), logits = tokens("logits", 2),
                 p = tokens("p", 2), expert = tokens("expert", 1), weight = tokens("weight", 1),
                 slot = tokens("slot", 1), y = tokens("y", 2), z = tokens("z", 2);
  const TensorId offsets = counts("offsets", 3), demand = counts("demand", 2),
                 used = counts("used", 2), total = counts("total", 2);
  const TensorId sent = routed("sent", Rows::sent), received = routed("received", Rows::received),
                 produced = routed("produced", Rows::received),
                 returned = routed("returned", Rows::sent);
  forward(Linear{}, "in", {begin, w_in}, {x});
  forward(Linear{}, "logits", {x, w_gate}, {logits});
  forward(Softmax{}, "softmax", {logits}, {p});
  forward(SelectExperts{.experts = 2, .capacity = 1, .drop = drop, .gate = "drawn"}, "gate",
          {logits, p}, {expert, weight, slot, offsets, demand, used});
  forward(ExchangeCounts{2}, "counts", {offsets, demand}, {total});
  forward(LoadBalancingLoss{2}, "balance", {p, total}, {build.result("loss")});
  forward(RouterZLoss{4}, "z loss", {logits}, {build.result("z"), build.activation("log", 4, 1)});
  forward(Permute{1}, "permute", {x, expert, slot, offsets}, {sent});
  forward(AllToAll{Direction::dispatch}, "dispatch", {sent}, {received});
  forward(Gelu{}, "experts", {received}, {produced});
  forward(AllToAll{Direction::combine}, "return", {produced}, {returned});
  forward(Combine{1}, "combine", {returned, expert, weight, slot, offsets}, {y});
  forward(Add{}, "add", {x, y}, {z});
  forward(Gelu{}, "behind", {z}, {tokens("end", 2)});
  layer.program = std::move(build.program);
  return layer;
}

/// Every assignment of axes to the tensors of a range, op after op.
class AllAssignments {
 public:
  AllAssignments(const Program& program, const RangeQuestion& question, const OpRange& layer)
      : program_(program), question_(question), layer_(layer) {}

  bool any() { return try_op(question_.ops.first); }

 private:
  const Op& op(std::size_t place) const { return program_.ops[place]; }
  bool in_range(std::size_t place) const {
    return place >= question_.ops.first && place < question_.ops.end;
  }
  bool may_wait(std::size_t place) const {
    return place > std::max(question_.ops.first, layer_.first) &&
           place + 1 < std::min(question_.ops.end, layer_.end);
  }
  static bool uses(const std::vector<moe::Use>& operands, TensorId id) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const moe::Use& use) { return use.tensor == id; });
  }

  /// True for counts that every part adds to.
  bool handed_on(TensorId id) const {
    const std::string& name = program_.tensors[static_cast<std::size_t>(id)].name;
    return name == "demand" || name == "used" || name == "total";
  }

  bool possible(TensorId id, char letter) const {
    const moe::Tensor& tensor = program_.tensors[static_cast<std::size_t>(id)];
    const auto axis = static_cast<Axis>(kLetters.find(letter));
    if (!question_.axes.has(axis)) return false;
    const bool activation = tensor.role == moe::Role::activation;
    const bool routed = tensor.rows_are != moe::Rows::fixed;
    switch (axis) {
      case Axis::none:
        return true;
      case Axis::batch:
        return (activation || tensor.role == moe::Role::input) && !routed && tensor.rows == 4;
      case Axis::columns:
        return (activation || tensor.role == moe::Role::parameter) &&
               tensor.columns % question_.parts == 0;
      case Axis::capacity:
        return routed;
      case Axis::irregular:
        return activation && comes_from_range(id) && !leaves_range_unfinished(id);
      case Axis::later:
        return true;
    }
    return false;
  }
  bool comes_from_range(TensorId id) const {
    for (std::size_t place = 0; place < program_.ops.size(); ++place) {
      if (in_range(place) && uses(op(place).writes, id)) return true;
    }
    return false;
  }
  bool leaves_range_unfinished(TensorId id) const {
    for (std::size_t place = 0; place < program_.ops.size(); ++place) {
      if (!in_range(place) && uses(op(place).reads, id) && !handed_on(id)) return true;
    }
    return false;
  }

  std::vector<std::string> ways_to_cut(const Op& op) const {
    if (std::holds_alternative<moe::Gelu>(op.kind)) {
      const auto& x = program_.tensors[static_cast<std::size_t>(op.reads[0].tensor)];
      const auto& y = program_.tensors[static_cast<std::size_t>(op.writes[0].tensor)];
      if ((x.rows_are == moe::Rows::fixed) != (y.rows_are == moe::Rows::fixed)) return {};
      return x.rows_are == moe::Rows::fixed ? kGeluOfTokens : kGeluOfRouted;
    }
    if (const auto* gate = std::get_if<moe::SelectExperts>(&op.kind)) {
      if (gate->drop == moe::Drop::probability) return {kWholeChoice};
    }
    return kAllowed.at(kind_name(op));
  }

  static std::vector<TensorId> operands(const Op& op) {
    std::vector<TensorId> ids;
    for (const moe::Use& use : op.reads) ids.push_back(use.tensor);
    for (const moe::Use& use : op.writes) ids.push_back(use.tensor);
    return ids;
  }

  bool try_op(std::size_t place) {
    if (place == question_.ops.end) return true;
    const Op& here = op(place);
    const std::vector<TensorId> ids = operands(here);
    const bool overwrites = std::any_of(waiting_.begin(), waiting_.end(), [&](std::size_t other) {
      return std::any_of(here.writes.begin(), here.writes.end(), [&](const moe::Use& use) {
        return uses(op(other).reads, use.tensor) || uses(op(other).writes, use.tensor);
      });
    });
    if (!overwrites) {
      for (const std::string& way : ways_to_cut(here)) {
        if (try_letters(place, ids, way, 0)) return true;
      }
    }
    if (!may_wait(place)) return false;
    waiting_.insert(place);
    const bool found = try_letters(
        place, ids, std::string(here.reads.size(), '?') + std::string(here.writes.size(), 'L'), 0);
    waiting_.erase(place);
    return found;
  }

  /// '?': any axis that the tensor may have, except those that no op after all parts can use.
  bool try_letters(std::size_t place, const std::vector<TensorId>& ids, const std::string& letters,
                   std::size_t i) {
    if (i == ids.size()) return try_op(place + 1);
    for (const char letter : letters[i] == '?' ? std::string(kLetters) : letters.substr(i, 1)) {
      if (letters[i] == '?' && letter == 'I' && !handed_on(ids[i])) continue;
      const auto known = axis_of_.find(ids[i]);
      if (known != axis_of_.end() ? known->second != letter : !possible(ids[i], letter)) continue;
      const bool is_new = known == axis_of_.end();
      axis_of_[ids[i]] = letter;
      const bool found = try_letters(place, ids, letters, i + 1);
      if (is_new) axis_of_.erase(ids[i]);
      if (found) return true;
    }
    return false;
  }

  const Program& program_;
  const RangeQuestion& question_;
  OpRange layer_;
  std::map<TensorId, char> axis_of_;
  std::set<std::size_t> waiting_;
};

/// Reads of other tensors of the same rows, and ops in another order.
void disturb(GateLayer& layer, std::mt19937& random) {
  const auto draw = [&](std::size_t below) { return random() % below; };
  auto& ops = layer.program.ops;
  for (std::size_t change = draw(4); change > 0; --change) {
    Op& op = ops[draw(ops.size())];
    TensorId& read = op.reads[draw(op.reads.size())].tensor;
    for (const auto* alike : {&layer.of_tokens, &layer.routed}) {
      if (std::find(alike->begin(), alike->end(), read) != alike->end()) {
        read = (*alike)[draw(alike->size())];
        break;
      }
    }
  }
  if (draw(3) == 0) {
    const std::size_t place = draw(ops.size() - 1);
    std::swap(ops[place], ops[place + 1]);
  }
}

TEST(AxisConstraints, OfSmallSequencesAreSatisfiedWhereSomeAssignmentOfAllSatisfiesThem) {
  std::mt19937 random(8);
  std::map<bool, int> answers;
  for (int i = 0; i < 600; ++i) {
    GateLayer layer = gate_layer(i % 5 == 0 ? moe::Drop::probability : moe::Drop::position);
    if (i >= 30) disturb(layer, random);
    RangeAxes axes(layer.program);
    const MoeOps around = axes.moe_ops(0);
    const std::size_t count = layer.program.ops.size();
    for (const AxisSet allowed : {kBatchAxes, kCapacityAxes, kAllAxes}) {
      RangeQuestion question{0, around.layer, 2, allowed};
      if (allowed == kCapacityAxes) question.ops = around.routed;
      if (i % 2 == 1) {
        question.ops.first = random() % count;
        question.ops.end = question.ops.first + 1 + random() % (count - question.ops.first);
      }
      const bool expected = AllAssignments(layer.program, question, around.layer).any();
      EXPECT_EQ(axes.legal(question), expected)
          << "draw " << i << ": ops " << question.ops.first << " to " << question.ops.end << " of\n"
          << to_text(layer.program);
      ++answers[expected];
    }
  }
  EXPECT_GT(answers[true], 300);
  EXPECT_GT(answers[false], 300);
}

std::vector<std::string> ways_of(const Program& program, const Op& op) {
  std::vector<std::string> ways;
  for (const AxisMode& mode : cut_modes(program, op, {0, 2, 0})) {
    std::string& way = ways.emplace_back();
    for (const AxisSet axes : mode.operands) {
      for (std::size_t letter = 0; letter < kLetters.size(); ++letter) {
        if (axes.has(static_cast<Axis>(letter))) way += kLetters[letter];
      }
    }
  }
  return ways;
}

TEST(AxisConstraints, ComeFromWhatOpKindsSayOfThemselves) {
  for (const moe::Drop drop : {moe::Drop::position, moe::Drop::probability}) {
    const GateLayer layer = gate_layer(drop);
    for (const Op& op : layer.program.ops) {
      if (std::holds_alternative<moe::Gelu>(op.kind)) continue;
      std::vector<std::string> ways = ways_of(layer.program, op),
                               allowed = kAllowed.at(kind_name(op));
      const bool choice = std::holds_alternative<moe::SelectExperts>(op.kind);
      if (choice && drop == moe::Drop::probability) allowed = {kWholeChoice};
      std::sort(ways.begin(), ways.end());
      std::sort(allowed.begin(), allowed.end());
      EXPECT_EQ(ways, allowed) << op.name;
    }
  }
}

}  // namespace
}  // namespace tuner::axis_constraints_test
