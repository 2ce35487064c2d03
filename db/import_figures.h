#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

/// Figures of papers beside ours, as experiments/reproduce writes them.
namespace db {

/// Reads CSV with a heading. It must have the columns paper, table, setting, system, quantity,
/// paper_figure, ours and basis, in any order; others are left out. "-" and an empty cell are no
/// figure. `name` is the file's name for messages. run_id of the figures stays 0. Throws Error
/// (invalid) with the number of the line for a column that is missing, a line with more or fewer
/// cells than the heading, a text where a number is expected, and a figure that is there twice.
std::vector<Figure> read_figures(std::istream& file, const std::string& name);

/// Stores the figures of a file as those of `run`, whose machine is this one. All of them are
/// stored, or nothing. Returns the id of the run. Throws Error, not_found where there is no file.
std::int64_t import_figures(Connection& connection, Run run, const std::string& path);

}  // namespace db
