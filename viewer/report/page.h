#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "viewer/report/pictures.h"
#include "viewer/report/study_facts.h"
#include "viewer/report/tables.h"

/// The page of a report.
namespace viewer {

/// One HTML page that says what the study found and shows its trials and pictures. It holds its
/// style and pictures and refers to nothing but the tables beside it, so it opens without a
/// network. It suits a wide screen, a phone and paper. `database` is named as the source.
std::string report_page(const StudyFacts& facts, const std::vector<Picture>& pictures,
                        const std::vector<CsvTable>& tables, const std::string& database);

/// `text` with the characters that mean something in HTML written as entities.
std::string html_escaped(std::string_view text);

/// The bytes as base64 (RFC 4648), as data URLs have them.
std::string base64(std::string_view bytes);

}  // namespace viewer
