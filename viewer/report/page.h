#pragma once

#include <string>
#include <vector>

#include "viewer/report/pictures.h"
#include "viewer/report/study_facts.h"
#include "viewer/report/tables.h"

/// The page of a report.
namespace viewer {

/// One HTML page (html.h) that says what the study found and shows its trials and pictures. It
/// refers to nothing but the tables beside it. `database` is named as the source.
std::string report_page(const StudyFacts& facts, const std::vector<Picture>& pictures,
                        const std::vector<CsvTable>& tables, const std::string& database);

}  // namespace viewer
