#pragma once

#include <optional>
#include <vector>

#include "db/load_views.h"
#include "db/records.h"
#include "viewer/model/session.h"

/// What a search found, as a report speaks of it. No words here.
namespace viewer {

struct SearchFacts {
  db::Run run;
  std::vector<db::SetupOverview> setups;  ///< at least one; see setup_groups
};

/// The search that the selected run is; without a study in the database the newest one, whatever is
/// selected. None where a study is reported, or nothing. Throws db::Error.
std::optional<SearchFacts> gather_search(const Session& session);

}  // namespace viewer
