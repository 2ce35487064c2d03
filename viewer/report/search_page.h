#pragma once

#include <string>
#include <vector>

#include "viewer/report/pictures.h"
#include "viewer/report/search_facts.h"
#include "viewer/report/tables.h"

namespace viewer {

/// One HTML page (html.h) that says which setups a search found, and shows their times against
/// their memory. `pictures`: one of each group (setup_groups). `database` is named as the source.
std::string search_page(const SearchFacts& facts, const std::vector<Picture>& pictures,
                        const std::vector<CsvTable>& tables, const std::string& database);

}  // namespace viewer
