#include "db/import_figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "db/error.h"
#include "db/identity.h"
#include "db/store.h"
#include "db/transaction.h"

namespace db {
namespace {

constexpr std::array kColumns{"paper",    "table",        "setting", "system",
                              "quantity", "paper_figure", "ours",    "basis"};

/// Where a line stands.
struct Place {
  std::string file;
  int line = 0;
};

[[noreturn]] void refuse(const Place& place, const std::string& why) {
  throw Error(ErrorKind::invalid, fmt::format("{}, line {}: {}", place.file, place.line, why));
}

/// The cells of a line. A cell in quotes may hold commas, and quotes written twice.
std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  bool had_quotes = false;
  for (const char c : line) {
    if (c == '"') {
      if (had_quotes && !quoted) cells.back() += c;  // the second of two quotes
      quoted = !quoted;
      had_quotes = true;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
      had_quotes = false;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

/// Which cell of a line each of kColumns is.
std::array<std::size_t, kColumns.size()> find_columns(const std::vector<std::string>& heading,
                                                      const Place& place) {
  std::array<std::size_t, kColumns.size()> found{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto at = std::find(heading.begin(), heading.end(), kColumns[i]);
    if (at == heading.end()) {
      refuse(place, fmt::format("the heading has no column {}; experiments/reproduce --format csv "
                                "writes such a file",
                                kColumns[i]));
    }
    found[i] = static_cast<std::size_t>(at - heading.begin());
  }
  return found;
}

std::optional<double> number(const std::string& text, const char* column, const Place& place) {
  if (text.empty() || text == "-") return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    refuse(place, fmt::format("{} is \"{}\": expected a number, or - for none", column, text));
  }
  return value;
}

}  // namespace

std::vector<Figure> read_figures(std::istream& file, const std::string& name) {
  std::vector<Figure> figures;
  std::map<std::array<std::string, 5>, int> lines;
  Place place{name, 1};
  std::string line;
  std::getline(file, line);
  const auto heading = split(line);
  const auto columns = find_columns(heading, place);
  while (std::getline(file, line)) {
    ++place.line;
    const auto cells = split(line);
    if (cells.size() != heading.size()) {
      refuse(place, fmt::format("{} cells, but the heading has {}", cells.size(), heading.size()));
    }
    const auto cell = [&](std::size_t column) { return cells[columns[column]]; };
    if (cell(7) != "simulated" && cell(7) != "measured") {
      refuse(place, fmt::format("basis is \"{}\": expected simulated or measured", cell(7)));
    }
    const auto [earlier, is_new] =
        lines.try_emplace({cell(0), cell(1), cell(2), cell(3), cell(4)}, place.line);
    if (!is_new) refuse(place, fmt::format("line {} has this figure too", earlier->second));
    figures.push_back({0, cell(0), cell(1), cell(2), cell(3), cell(4),
                       number(cell(5), kColumns[5], place), number(cell(6), kColumns[6], place),
                       cell(7)});
  }
  return figures;
}

std::ifstream open_import(const std::string& path) {
  using std::filesystem::file_type;
  std::error_code none;
  const file_type type = std::filesystem::status(path, none).type();
  if (type == file_type::directory || type == file_type::character || type == file_type::block) {
    throw Error(ErrorKind::invalid,
                fmt::format("{}: is a {}: expected a file", path,
                            type == file_type::directory ? "folder" : "device"));
  }
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::not_found, fmt::format("{}: cannot be read", path));
  return file;
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
