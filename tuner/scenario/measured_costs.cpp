#include "tuner/scenario/measured_costs.h"

#include <fmt/format.h>

#include <utility>

#include "db/load.h"
#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "moe/rows/layout.h"
#include "tuner/scenario/measured_fits.h"

namespace tuner {
namespace {

/// True where the text asks for this layout of so many ranks.
bool is_layout(const std::string& layout, const std::string& asked, int ranks) {
  try {
    return layout == moe::to_text(moe::parse_layout(asked, ranks));
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

/// Costs and machine of the newest study of this model, of the same layout where there is one.
std::optional<MeasuredCosts> costs_of_study(const db::Connection& connection,
                                            const CostsWanted& wanted) {
  const moe::Model model = moe::model_from_json(wanted.model_json);
  std::optional<db::Study> chosen;
  bool same_layout = false;
  for (db::Study& study : db::load_studies(connection)) {
    if (!is_of_model(study, model)) continue;
    if (wanted.ranks && study.ranks != *wanted.ranks) continue;
    if (study.cost_model_json.empty() || study.cluster_json.empty()) continue;
    same_layout = is_layout(study.layout, wanted.layout, study.ranks);
    if (same_layout || !chosen) chosen = std::move(study);
    if (same_layout) break;
  }
  if (!chosen) return std::nullopt;
  MeasuredCosts measured{
      {cluster_from_json(chosen->cluster_json), cost_model_from_json(chosen->cost_model_json)}, {}};
  if (!same_layout && !chosen->layout.empty()) {
    measured.remarks.push_back(
        fmt::format("costs are those of study \"{}\", measured with --layout {}", chosen->name,
                    chosen->layout));
  }
  return measured;
}

}  // namespace

MeasuredCosts measured_costs(const std::string& database, const CostsWanted& wanted) {
  const db::Connection connection = db::open_reader(database);
  if (auto of_study = costs_of_study(connection, wanted)) return std::move(*of_study);
  if (auto fitted = fitted_costs(connection, wanted.ranks)) {
    return {std::move(fitted->costed), std::move(fitted->remarks)};
  }
  throw moe::InputError(fmt::format(
      "{}: no fits: measure with moe-bench all --db {} and moe-tune fit --db {}, or run a study",
      database, database, database));
}

}  // namespace tuner
