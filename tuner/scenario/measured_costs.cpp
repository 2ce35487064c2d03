#include "tuner/scenario/measured_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "db/identity.h"
#include "db/load.h"
#include "db/network.h"
#include "db/study_runs.h"
#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "moe/rows/layout.h"
#include "tuner/scenario/measured_fits.h"
#include "tuner/scenario/measured_place.h"

namespace tuner {
namespace {

/// True where the text asks for this layout of so many ranks.
bool is_layout(const std::string& layout, const std::string& asked, int ranks) {
  try {
    return moe::parse_layout(layout, ranks) == moe::parse_layout(asked, ranks);
  } catch (const moe::Refusal&) {
    return false;  // it asks for another number of ranks
  }
}

/// False too for a study of a model that this program cannot read.
bool is_of_model(const db::Study& study, const moe::Model& model) try {
  return moe::differing_keys(moe::model_from_json(study.model_json), model).empty();
} catch (const moe::InputError&) {
  return false;
}

/// Where the profile of a study was measured.
MeasuredPlace place_of_study(const db::Connection& connection, const db::Study& study) {
  const std::vector<std::int64_t> runs = db::profile_runs(study).value();
  return runs.empty() ? MeasuredPlace{} : place_of_run(connection, runs.front());
}

/// That of its first profile run: studies of several layouts may share the profile of one.
std::string profiled_layout(const db::Connection& connection, const db::Study& study) {
  const std::vector<std::int64_t> runs = db::profile_runs(study).value();
  return runs.empty() ? study.layout : db::load_run(connection, runs.front()).layout;
}

/// The profiled studies that were asked for, newest first.
std::vector<db::Study> studies_wanted(const db::Connection& connection, const CostsWanted& wanted) {
  const moe::Model model = moe::model_from_json(wanted.model_json);
  std::vector<db::Study> found;
  for (db::Study& study : db::load_studies(connection)) {
    if (!is_of_model(study, model)) continue;
    if (wanted.ranks && study.ranks != *wanted.ranks) continue;
    if (study.cost_model_json.empty() || study.cluster_json.empty()) continue;
    found.push_back(std::move(study));
  }
  return found;
}

/// Those of the place that is meant.
std::vector<db::Study> studies_there(const db::Connection& connection,
                                     std::vector<db::Study> studies, const CostsWanted& wanted,
                                     const MeasuredPlace& here) {
  std::vector<MeasuredPlace> measured;
  for (const db::Study& study : studies) measured.push_back(place_of_study(connection, study));
  const DistinctPlaces distinct = distinct_places(measured);
  const std::size_t chosen = chosen_place(distinct.places, wanted.place, here, connection.path());
  auto number = distinct.number_of.begin();
  std::erase_if(studies, [&](const db::Study& /*study*/) { return *number++ != chosen; });
  return studies;
}

/// Throws moe::InputError, with how to work them out again, where they are in another form.
CostModel stored_costs_of(const db::Connection& connection, const db::Study& study,
                          const std::string& model) try {
  return cost_model_from_json(study.cost_model_json);
} catch (const moe::InputError&) {
  throw moe::InputError(fmt::format(
      "study \"{0}\": its costs are in another form than those of this build: moe-tune study "
      "\"{0}\" --model {1} --ranks {2}{3} --db {4} --resume works them out again",
      study.name, model.empty() ? "MODEL" : model, study.ranks,
      study.layout.empty() ? "" : fmt::format(" --layout \"{}\"", study.layout),
      connection.path()));
}

/// Costs and machine of the newest study of this model, of the same layout where there is one.
std::optional<MeasuredCosts> costs_of_study(const db::Connection& connection,
                                            const CostsWanted& wanted, const MeasuredPlace& here) {
  std::vector<db::Study> studies = studies_wanted(connection, wanted);
  if (studies.empty()) return std::nullopt;
  studies = studies_there(connection, std::move(studies), wanted, here);
  const auto same_layout = std::ranges::find_if(studies, [&](const db::Study& study) {
    return is_layout(study.layout, wanted.layout, study.ranks);
  });
  const db::Study& chosen = same_layout != studies.end() ? *same_layout : studies.front();
  MeasuredCosts measured{
      {cluster_from_json(chosen.cluster_json), stored_costs_of(connection, chosen, wanted.model)},
      {}};
  const std::string whose = fmt::format("costs are those of study \"{}\",", chosen.name);
  const std::string profiled = profiled_layout(connection, chosen);
  if (!profiled.empty() && !is_layout(profiled, wanted.layout, chosen.ranks)) {
    measured.remarks.push_back(fmt::format("{} measured with --layout {}", whose, profiled));
  }
  const MeasuredPlace there = place_of_study(connection, chosen);
  measured.knows_cards = db::cards_per_node(there.network).has_value();
  const std::string elsewhere = measured_elsewhere(whose, there, here);
  if (!elsewhere.empty()) measured.remarks.push_back(elsewhere);
  return measured;
}

}  // namespace

MeasuredCosts measured_costs(const std::string& database, const CostsWanted& wanted) {
  const db::Connection connection = db::open_reader(database);
  const MeasuredPlace here =
      this_place(db::this_machine(), wanted.network.empty() ? db::this_network() : wanted.network);
  if (auto of_study = costs_of_study(connection, wanted, here)) return *of_study;
  if (auto fitted = fitted_costs(connection, wanted.ranks, wanted.place, here)) return *fitted;
  throw moe::InputError(fmt::format(
      "{}: no fits: measure with moe-bench all --db {} and moe-tune fit --db {}, or run a study",
      database, database, database));
}

bool is_measured_cluster(const std::string& cluster) {
  return cluster == kMeasuredCluster || cluster.starts_with(std::string(kMeasuredCluster) + ":");
}

}  // namespace tuner
