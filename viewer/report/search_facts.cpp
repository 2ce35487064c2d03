#include "viewer/report/search_facts.h"

#include "db/load.h"
#include "viewer/model/catalog.h"

namespace viewer {

std::optional<SearchFacts> gather_search(const Session& session) {
  SearchFacts facts;
  facts.setups = db::load_setup_overviews(session.connection);
  if (facts.setups.empty()) return std::nullopt;
  const RunRow* selected = find_run(session.catalog, session.selected_run);
  const bool is_search = selected != nullptr && selected->kind == "search";
  if (!is_search && !db::load_studies(session.connection).empty()) return std::nullopt;
  const std::int64_t run = is_search ? selected->id : facts.setups.front().setup.run_id;
  std::erase_if(facts.setups,
                [&](const db::SetupOverview& one) { return one.setup.run_id != run; });
  if (facts.setups.empty()) return std::nullopt;
  facts.run = db::load_run(session.connection, run);
  return facts;
}

}  // namespace viewer
