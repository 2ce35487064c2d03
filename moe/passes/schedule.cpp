#include "moe/passes/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "moe/errors.h"
#include "moe/input/json.h"
#include "moe/input/read_file.h"
#include "moe/input/value.h"

namespace moe {
namespace {

using Json = nlohmann::json;

Json json_of(const Decision& decision) {
  return std::visit(
      [](const auto& one) {
        Json object{{"decision", one.name}};
        write(object, one);
        return object;
      },
      decision);
}

Json json_of(const std::vector<Decision>& decisions) {
  Json list = Json::array();
  for (const Decision& decision : decisions) list.push_back(json_of(decision));
  return list;
}

void refuse_contradictions(const Schedule& schedule) {
  check_together(decisions_of<Exchange>(schedule));
  std::map<std::pair<std::size_t, std::string>, const Decision*> decided;
  for (const Decision& decision : schedule.decisions) {
    const auto [other, first] = decided.try_emplace(subject_of(decision), &decision);
    if (first) continue;
    constexpr std::size_t most = 200;  // of a subject, which may list every expert
    throw Refusal(
        db::shortened(to_json(decision), most),
        fmt::format("decided already, as {}", db::shortened(to_json(*other->second), most)),
        "expected one of the two");
  }
}

template <std::size_t... index>
Decision read_decision(const InputObject& object, std::index_sequence<index...>) {
  const std::size_t chosen = object.member("decision", "the name of a decision")
                                 .one_of({std::variant_alternative_t<index, AnyDecision>::name...});
  using Read = Decision (*)(const InputObject&);
  constexpr Read reads[] = {[](const InputObject& input) -> Decision {
    return std::variant_alternative_t<index, AnyDecision>::read(input);
  }...};
  return reads[chosen](object);
}

template <class... Ds>
std::vector<DecisionKind> kinds_of(const std::variant<Ds...>*) {
  return {{Ds::name, Ds::description, Ds::changes_results}...};
}

/// Applies decisions of kind D, all at once where the kind can do that.
template <class D>
Program apply_kind(Program program, std::span<const Decision> decisions) {
  std::vector<D> all;
  for (const Decision& decision : decisions) all.push_back(std::get<D>(decision));
  if constexpr (requires { apply_all(program, std::span<const D>(all)); }) {
    return apply_all(std::move(program), std::span<const D>(all));
  } else {
    for (const D& one : all) program = apply(std::move(program), one);
    return program;
  }
}

}  // namespace

std::vector<DecisionKind> decision_kinds() {
  return kinds_of(static_cast<const AnyDecision*>(nullptr));
}

Decision::Decision() = default;
Decision::Decision(const Decision&) = default;
Decision::Decision(Decision&&) noexcept = default;
Decision& Decision::operator=(const Decision&) = default;
Decision& Decision::operator=(Decision&&) noexcept = default;
Decision::~Decision() = default;

bool operator==(const Decision& a, const Decision& b) {
  return static_cast<const AnyDecision&>(a) == static_cast<const AnyDecision&>(b);
}
bool operator<(const Decision& a, const Decision& b) {
  return static_cast<const AnyDecision&>(a) < static_cast<const AnyDecision&>(b);
}

std::pair<std::size_t, std::string> subject_of(const Decision& decision) {
  return {decision.index(), std::visit([](const auto& one) { return subject(one); }, decision)};
}

Schedule canonical(Schedule schedule) {
  std::sort(schedule.decisions.begin(), schedule.decisions.end());
  return schedule;
}

std::string changes_results(const Schedule& schedule) {
  std::set<std::string_view> names;
  for (const Decision& decision : schedule.decisions) {
    std::visit(
        [&](const auto& one) {
          if (one.changes_results) names.insert(one.name);
        },
        decision);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Program apply(Program program, const Schedule& schedule,
              const std::function<void(const Decision&, const Program&)>& after) {
  refuse_contradictions(schedule);
  const std::vector<Decision> all = canonical(schedule).decisions;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    end = begin + 1;
    while (!after && end < all.size() && all[end].index() == all[begin].index()) ++end;
    program = std::visit(
        [&]<class D>(const D&) {
          return apply_kind<D>(std::move(program), std::span(all).subspan(begin, end - begin));
        },
        all[begin]);
    if (after) after(all[begin], program);
  }
  validate(program);
  return program;
}

bool is_legal(const Program& program, const Schedule& schedule) {
  try {
    apply(program, schedule);
    return true;
  } catch (const Refusal&) {
    return false;
  }
}

void check_applies(const Program& program, const Schedule& schedule, const std::string& file) {
  try {
    apply(program, schedule);
  } catch (const Refusal& refusal) {
    throw within(file, refusal);
  }
}

std::string to_json(const Decision& decision) { return json_of(decision).dump(); }

std::string to_json(const Schedule& schedule) {
  Json json{{"decisions", json_of(canonical(schedule).decisions)}};
  if (!schedule.planner.empty()) json["planner"] = schedule.planner;
  return json.dump(2);
}

std::string decisions_json(const Schedule& schedule) {
  return json_of(canonical(schedule).decisions).dump();
}

Schedule read_schedule(const InputObject& object) {
  Schedule schedule;
  if (object.has("planner")) schedule.planner = object.text("planner", "a name");
  constexpr auto kinds = std::make_index_sequence<std::variant_size_v<AnyDecision>>();
  for (const InputValue& entry : object.list("decisions", "a list of decisions")) {
    schedule.decisions.push_back(read_decision(entry.object("a decision"), kinds));
  }
  return schedule;
}

Schedule schedule_from_json(std::string_view text, std::string name) {
  const InputDocument document = parse_json(text, std::move(name));
  Schedule schedule = read_schedule(document.object());
  document.no_other_keys();
  return schedule;
}

Schedule load_schedule(const std::string& path) {
  return schedule_from_json(read_file(path), path);
}

db::Schedule schedule_row(const Schedule& schedule) {
  return {0, "", schedule.planner, to_json(schedule), changes_results(schedule)};
}

}  // namespace moe
