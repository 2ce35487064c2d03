#include "tuner/study/study_place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "db/load.h"
#include "db/study_runs.h"
#include "moe/errors.h"

namespace tuner {
namespace {

/// The runs of processes that ran this study, newest first.
std::vector<db::Run> processes_of(const db::Connection& connection, const db::Study& study) {
  std::vector<db::Run> runs = db::load_runs(connection, {.kind = "study", .name = study.name});
  // Of another study of this name, which was deleted.
  std::erase_if(runs, [&](const db::Run& run) { return run.started_at < study.created_at; });
  return runs;
}

std::optional<std::int64_t> first_profile_run(const db::Study& study) {
  const std::vector<std::int64_t> runs = db::profile_runs(study).value();
  return runs.empty() ? std::nullopt : std::optional(runs.front());
}

std::set<std::string> hosts_of(const db::Connection& connection, std::int64_t run) {
  std::set<std::string> hosts;
  for (const db::RunRank& rank : db::load_run_ranks(connection, run)) hosts.insert(rank.hostname);
  return hosts;
}

}  // namespace

std::string check_begun_here(const db::Connection& connection, const db::Study& study,
                             const MeasuredPlace& here) {
  const std::optional<std::int64_t> profile = first_profile_run(study);
  const std::vector<db::Run> processes = processes_of(connection, study);
  if (!profile && processes.empty()) return "";
  // A study is compared with a study: it may run on a node where nothing is trained.
  MeasuredPlace there =
      place_of_run(connection, processes.empty() ? *profile : processes.back().id);
  if (profile) there.nodes = place_of_run(connection, *profile).nodes;
  const std::vector<std::string> found = differences(there, here);
  if (!found.empty()) {
    throw moe::InputError(
        fmt::format("study \"{}\" was measured elsewhere: {}: go on with it there, or name another "
                    "study",
                    study.name, fmt::join(found, "; ")));
  }
  std::set<std::string> others;
  for (const db::Run& process : processes) {
    MeasuredPlace before;
    before.revision = process.revision;
    if (!other_build(before, here).empty()) others.insert(process.revision);
  }
  if (others.empty()) return "";
  return fmt::format(
      "WARNING: study \"{}\" was measured with build {}, this is build {}: what changed between "
      "them is in the differences of its trials",
      study.name, fmt::join(others, " and "), here.revision);
}

std::string StudyPlace::check(std::int64_t run) {
  if (!first_) first_ = first_profile_run(study_).value_or(run);
  const MeasuredPlace there = place_of_run(connection_, *first_);
  const MeasuredPlace here = place_of_run(connection_, run);
  std::vector<std::string> found = differences(there, here);
  if (const std::string nodes = other_nodes(there, here); !nodes.empty()) found.push_back(nodes);
  if (!found.empty()) {
    throw moe::InputError(
        fmt::format("study \"{}\": run {} was measured elsewhere than run {}: {}: it does not "
                    "count; go on with the study there, or name another",
                    study_.name, run, *first_, fmt::join(found, "; ")));
  }
  const std::set<std::string> before = hosts_of(connection_, *first_);
  const std::set<std::string> now = hosts_of(connection_, run);
  if (before == now || std::exchange(told_of_hosts_, true)) return "";
  return fmt::format("WARNING: study \"{}\" was begun on {}, and is now measured on {}",
                     study_.name, fmt::join(before, ", "), fmt::join(now, ", "));
}

}  // namespace tuner
