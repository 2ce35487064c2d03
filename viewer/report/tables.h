#pragma once

#include <string>
#include <vector>

#include "viewer/report/study_facts.h"

/// The tables of a report, for spreadsheets and notebooks.
namespace viewer {

struct CsvTable {
  std::string file;   ///< "trials.csv"
  std::string about;  ///< one sentence on what a row is
  std::string text;   ///< as RFC 4180 says, lines ending in LF
};

/// Trials and repeats of the study, the time of each rank and the exposed ops of the timelines that
/// the report draws, losses and balance, and then search_tables(). Columns are named as those of the
/// database's views. Throws db::Error.
std::vector<CsvTable> csv_tables(const db::Connection& connection, const StudyFacts& facts);

/// Setups of all searches, and fits. Throws db::Error.
std::vector<CsvTable> search_tables(const db::Connection& connection);

}  // namespace viewer
