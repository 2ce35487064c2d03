#include "tuner/planners/situation/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "db/console/exit_codes.h"
#include "moe/errors.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/planners/situation/planning_progress.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/planners/situation/within_memory.h"

namespace tuner {
namespace {

/// The options that were asked for and then `own`, a planner's parameters. Options that follow from
/// these are left out, as the degree follows from chunks.
std::string with_asked(const PlannerOptions& options, const std::string& own) {
  PlannerOptions more = options;
  std::erase_if(more.asked, [&](const auto& entry) {
    return entry.first == kDegree.key ||
           own.find(fmt::format("\"{}\":", entry.first)) != std::string::npos;
  });
  return join_parameters(to_json(more), own);
}

/// A planner's parameters, whether the optimizer is sharded, how many blocks are restored, and how
/// many of them whole.
std::string with_memory_decisions(std::string own, const moe::Schedule& schedule) {
  if (!moe::decisions_of<moe::ShardOptimizer>(schedule).empty()) {
    own = join_parameters(own, R"({"shard_optimizer": true})");
  }
  const auto restored = moe::decisions_of<moe::RestoreBlock>(schedule);
  if (restored.empty()) return own;
  own = join_parameters(own, fmt::format(R"({{"restored_blocks": {}}})", restored.size()));
  const auto whole = std::ranges::count(restored, moe::RestoreCommunication::repeat,
                                        &moe::RestoreBlock::communication);
  if (whole == 0) return own;
  return join_parameters(own, fmt::format(R"({{"whole_blocks": {}}})", whole));
}

/// True for failures that no contract foresees, of the planner or of a library. Refusals, wrong
/// input, memory, limits and signals have exit codes of their own.
bool is_bug(const std::exception& error) { return moe::exit_code(error) == db::kExitFailed; }

template <class Run>
auto named(const Planner& planner, const Run& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    if (!is_bug(error)) throw;
    throw std::logic_error(fmt::format("planner {}: {}", planner.name, error.what()));
  }
}

}  // namespace

std::string memory_key(std::string_view planner, const PlannerOptions& options,
                       std::string_view what) {
  return fmt::format("{} {} {} {} {}", planner, to_json(options), options.most_chunks,
                     options.iterations, what);
}

std::vector<Candidate> remembered(const Situation& situation, const std::string& key,
                                  const std::function<std::vector<Candidate>()>& plan) {
  if (situation.memory == nullptr) return plan();
  auto& plans = situation.memory->plans;
  if (const auto found = plans.find(key); found != plans.end()) return found->second;
  return plans.emplace(key, plan()).first->second;
}

namespace {

/// The planner's candidates, whatever memory they need.
std::vector<Candidate> tried_by(const Planner& planner, const Situation& situation,
                                const PlannerOptions& options) {
  return remembered(situation, memory_key(planner.name, options, "candidates"), [&] {
    return named(planner, [&] { return planner.candidates(situation, options); });
  });
}

/// A situation in which a planner remembers what it has tried, and says what it tries.
struct Planning {
  Planning(const Planner& planner, const Situation& of) : situation(of) {
    const auto parameters = [&planner](const moe::Schedule& schedule) {
      return with_memory_decisions(planner.parameters ? planner.parameters(schedule) : "{}",
                                   schedule);
    };
    if (of.memory == nullptr) situation.memory = &memory;
    if (of.progress != nullptr) {
      progress.emplace(*of.progress, planner.name, parameters);
    } else {
      progress.emplace(std::string(planner.name), parameters);
    }
    situation.progress = &*progress;
  }
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;

  Situation situation;
  PlanMemory memory;
  std::optional<PlanningProgress> progress;
};

}  // namespace

moe::Schedule plan_with(const Planner& planner, const Situation& whole,
                        const PlannerOptions& options) {
  const Planning planning(planner, whole);
  const Situation& situation = planning.situation;
  const auto plan = [&]() -> std::vector<Candidate> {
    std::vector<Candidate> tried;
    if (planner.plan == nullptr) tried = tried_by(planner, situation, options);
    moe::Schedule schedule = named(planner, [&] {
      return planner.plan != nullptr ? planner.plan(situation, options)
                                     : fastest_simulated(situation, std::move(tried)).schedule;
    });
    return {{planner.keeps_to_memory ? schedule : within_memory(situation, std::move(schedule))}};
  };
  return remembered(situation, memory_key(planner.name, options, kChoice), plan).front().schedule;
}

std::string parameters_of(const Planner& planner, const PlannerOptions& options,
                          const moe::Schedule& schedule) {
  return with_asked(
      options,
      with_memory_decisions(planner.parameters ? planner.parameters(schedule) : "{}", schedule));
}

std::string remark_of(const Planner& planner, const Situation& situation,
                      const PlannerOptions& options, const moe::Schedule& schedule) {
  if (planner.remark == nullptr) return "";
  return planner.remark(Planning(planner, situation).situation, options, schedule);
}

std::vector<Candidate> candidates_of(const Planner& planner, const Situation& whole,
                                     const PlannerOptions& options) {
  const Planning planning(planner, whole);
  const Situation& situation = planning.situation;
  std::vector<Candidate> candidates;
  if (planner.candidates) {
    const std::string key = memory_key(planner.name, options, "candidates within memory");
    candidates = remembered(situation, key, [&] {
      std::vector<Candidate> tried = tried_by(planner, situation, options);
      if (planner.keeps_to_memory) return tried;
      for (Candidate& one : tried) {
        one.schedule = within_memory(situation, std::move(one.schedule));
      }
      return tried;
    });
  } else {
    candidates = {{plan_with(planner, whole, options)}};
  }
  for (Candidate& one : candidates) {
    one.planner = one.schedule.planner;
    one.parameters_json =
        one.parameters_json.empty()
            ? parameters_of(planner, options, one.schedule)
            : with_asked(options, with_memory_decisions(one.parameters_json, one.schedule));
  }
  return candidates;
}

}  // namespace tuner
