#include "tuner/scenario/given.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/records.h"
#include "moe/errors.h"
#include "moe/input/value.h"

namespace tuner {
namespace {

std::string with_name(const std::string& parameters_json, const std::string& name) {
  const std::string given =
      nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return join_parameters(fmt::format(R"({{"given": {}}})", given), parameters_json);
}

/// Refuses: a planner, whose own decisions are `own`, cannot go on from the given ones. `why` is
/// the reason.
[[noreturn]] void refuse(const Given& given, const moe::Schedule& own, const std::string& why) {
  for (const moe::Decision& decision : given.schedule.decisions) {
    const auto same = std::ranges::find(own.decisions, moe::subject_of(decision), moe::subject_of);
    if (same == own.decisions.end()) continue;
    constexpr std::size_t most = 200;  // characters: a decision may list every expert
    throw moe::Refusal(given.file,
                       fmt::format("{}: planner {} decides that too, as {}",
                                   db::shortened(moe::to_json(decision), most), own.planner,
                                   db::shortened(moe::to_json(*same), most)),
                       "leave it out of the file, or plan with another planner");
  }
  throw moe::Refusal(
      given.file, fmt::format("planner {} cannot go on from it: {}", own.planner, why),
      "leave the decisions that prevent it out of the file, or plan with another planner");
}

Situation after(const Given& given, const Situation& whole) {
  Situation situation{given.program, whole.groups, whole.routing, whole.costs, whole.cluster};
  situation.routings = whole.routings;
  if (whole.measure) {
    situation.measure = [&](const moe::Schedule& schedule) {
      try {
        return whole.measure(join(schedule, given, whole.program));
      } catch (const moe::Refusal&) {
        return std::numeric_limits<double>::infinity();  // not legal, so it is never chosen
      }
    };
  }
  return situation;
}

}  // namespace

Given load_given(const std::string& path, const moe::Program& whole) {
  Given given{path, std::filesystem::path(path).stem().string(), moe::load_schedule(path), {}};
  moe::check_applies(whole, given.schedule, path);
  given.program = moe::apply(whole, given.schedule);
  return given;
}

std::vector<Given> load_all_given(const std::vector<std::string>& files,
                                  const moe::Program& program) {
  std::vector<Given> all;
  for (const std::string& file : files) {
    all.push_back(load_given(file, program));
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i].name == all.back().name) {
        throw moe::InputError(
            fmt::format("--given {} and {}: trials are called by the file's name: expected "
                        "another name for one of them",
                        all[i].file, file));
      }
    }
  }
  return all;
}

moe::Schedule join(const moe::Schedule& planned, const Given& given, const moe::Program& whole) {
  moe::Schedule both = planned;
  both.decisions.insert(both.decisions.end(), given.schedule.decisions.begin(),
                        given.schedule.decisions.end());
  try {
    moe::apply(whole, both);
  } catch (const moe::Refusal& error) {
    refuse(given, planned, error.what());
  }
  return both;
}

moe::Schedule plan_from(const Given& given, const Planner& planner, const PlannerOptions& options,
                        const Situation& whole) {
  moe::Schedule planned;
  try {
    planned = plan_with(planner, after(given, whole), options);
  } catch (const moe::Refusal& error) {
    refuse(given, plan_with(planner, whole, options), error.what());
  }
  return join(planned, given, whole.program);
}

GivenCandidates candidates_of(const Planner& planner, const Situation& whole,
                              const PlannerOptions& options, const Given& given) {
  GivenCandidates result;
  std::vector<Candidate> planned;
  try {
    planned = candidates_of(planner, after(given, whole), options);
  } catch (const moe::Refusal& error) {
    result.refused.push_back(fmt::format("{}: {}: {}", planner.name, given.file, error.what()));
  }
  for (Candidate& candidate : planned) {
    try {
      candidate.schedule = join(candidate.schedule, given, whole.program);
    } catch (const moe::Refusal& error) {
      result.refused.push_back(
          fmt::format("{} {}: {}", candidate.planner, candidate.parameters_json, error.what()));
      continue;
    }
    if (candidate.planner == db::kSequential) {
      candidate.planner = candidate.schedule.planner = kGivenAlone;
    }
    candidate.parameters_json = with_name(candidate.parameters_json, given.name);
    result.candidates.push_back(std::move(candidate));
  }
  return result;
}

GivenCandidates candidates_of(const Planner& planner, const Situation& whole,
                              const PlannerOptions& options, const std::vector<Given>& given) {
  GivenCandidates all;
  try {
    all.candidates = candidates_of(planner, whole, options);
  } catch (const moe::Refusal& refusal) {
    all.refused.push_back(fmt::format("{}: {}", planner.name, refusal.what()));
  }
  for (const Given& one : given) {
    GivenCandidates more = candidates_of(planner, whole, options, one);
    std::ranges::move(more.candidates, std::back_inserter(all.candidates));
    std::ranges::move(more.refused, std::back_inserter(all.refused));
  }
  return all;
}

}  // namespace tuner
