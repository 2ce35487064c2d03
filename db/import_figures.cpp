#include "db/import_figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <utility>

#include "db/error.h"
#include "db/identity.h"
#include "db/line_of_log.h"
#include "db/open_import.h"
#include "db/store.h"
#include "db/transaction.h"

namespace db {
namespace {

constexpr std::array kColumns{"paper",    "table",        "setting", "system",
                              "quantity", "paper_figure", "ours",    "basis"};

/// Which cell of a line each of kColumns is.
std::array<std::size_t, kColumns.size()> find_columns(const std::vector<std::string>& heading,
                                                      const LineOfLog& place) {
  std::array<std::size_t, kColumns.size()> found{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto at = std::find(heading.begin(), heading.end(), kColumns[i]);
    if (at == heading.end()) {
      place.refuse(
          fmt::format("the heading has no column {}; experiments/reproduce --format csv "
                      "writes such a file",
                      kColumns[i]));
    }
    found[i] = static_cast<std::size_t>(at - heading.begin());
  }
  return found;
}

std::optional<double> number(const std::string& text, const char* column, const LineOfLog& place) {
  if (text.empty() || text == "-") return std::nullopt;
  if (const auto value = number_in(text)) return value;
  place.refuse(fmt::format("{} is \"{}\": expected a number, or - for none", column, text));
}

}  // namespace

std::vector<Figure> read_figures(std::istream& file, const std::string& name) {
  std::vector<Figure> figures;
  std::map<std::array<std::string, 5>, int> lines;
  LineOfLog place{name, 1};
  std::string line;
  std::getline(file, line);
  const auto heading = csv_cells(line);
  const auto columns = find_columns(heading, place);
  while (std::getline(file, line)) {
    ++place.number;
    const auto cells = csv_cells(line);
    if (cells.size() != heading.size()) {
      place.refuse(fmt::format("{} cells, but the heading has {}", cells.size(), heading.size()));
    }
    const auto cell = [&](std::size_t column) { return cells[columns[column]]; };
    if (cell(7) != "simulated" && cell(7) != "measured") {
      place.refuse(fmt::format("basis is \"{}\": expected simulated or measured", cell(7)));
    }
    const auto [earlier, is_new] =
        lines.try_emplace({cell(0), cell(1), cell(2), cell(3), cell(4)}, place.number);
    if (!is_new) place.refuse(fmt::format("line {} has this figure too", earlier->second));
    figures.push_back({0, cell(0), cell(1), cell(2), cell(3), cell(4),
                       number(cell(5), kColumns[5], place), number(cell(6), kColumns[6], place),
                       cell(7)});
  }
  return figures;
}

std::int64_t import_figures(Connection& connection, Run run, const std::string& path) {
  std::ifstream file = open_import(path);
  auto figures = read_figures(file, path);
  if (figures.empty()) throw Error(ErrorKind::invalid, fmt::format("{}: has no figures", path));
  Transaction transaction(connection, fmt::format("store {} figures", figures.size()));
  run.device = "cpu";
  const std::int64_t id = begin_run(connection, std::move(run), this_machine());
  for (Figure& figure : figures) figure.run_id = id;
  insert(connection, figures);
  finish_run(connection, id, "done");
  transaction.commit();
  return id;
}

}  // namespace db
