#include <fmt/format.h>

#include <charconv>
#include <istream>
#include <utility>

#include "db/collective_facts.h"
#include "db/sweep_log.h"

namespace db {
namespace {

constexpr std::string_view kHeading =
    "size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)";

/// 8 of "trace/a100/AR_GPU8_1M_1024M_LUT"; 0 where it does not say.
int ranks_in_name(std::string_view path) {
  constexpr std::string_view mark = "AR_GPU";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  int ranks = 0;
  if (name.starts_with(mark)) {
    std::from_chars(name.data() + mark.size(), name.data() + name.size(), ranks);
  }
  return ranks;
}

}  // namespace

ImportedSweeps read_vtrain(std::istream& table, const std::string& name, const SweepFacts& told) {
  SweepFacts facts = told;
  const int named = ranks_in_name(name);
  if (facts.ranks == 0) facts.ranks = named;
  if (facts.ranks < 2) {
    refuse_log(name, "the file's name is not AR_GPU<ranks>_...: expected --ranks N, 2 or more");
  }
  if (named > 0 && named != facts.ranks) {
    refuse_log(name, fmt::format("--ranks {}, but the name has GPU{}", facts.ranks, named));
  }
  const LoggedCollective* collective = asked_collective(name, facts);
  if (collective == nullptr) collective = collective_with(&LoggedCollective::name, "all_reduce");
  const double factor = bus_factor(collective->name, facts.ranks).value();
  ImportedSweeps found;
  ImportedSweep& sweep = found.sweeps.emplace_back();
  sweep = {{}, told_hosts(name, facts, 1), facts.gpu, facts.machine, facts.network};
  LineOfLog at{name, 1};
  std::string line;
  std::getline(table, line);
  if (line.substr(0, line.find('\r')) != kHeading) {
    at.refuse(fmt::format("expected the heading {}", kHeading));
  }
  while (std::getline(table, line)) {
    ++at.number;
    if (line.empty() || line == "\r") continue;
    const std::vector<std::string> cells = csv_cells(line);
    if (cells.size() != 7) {
      at.refuse(fmt::format("{} cells, expected 7 (is the line cut off?)", cells.size()));
    }
    const auto figure = [&](std::size_t place, const char* column) {
      const auto value = number_in(cells[place]);
      if (value && *value > 0) return *value;
      at.refuse(fmt::format("{} is \"{}\": expected a number above 0", column, cells[place]));
    };
    const std::int64_t bytes = size_in_bytes(cells[0], 1, at);
    if (bytes == 0) at.refuse("size(B) is 0: expected a number above 0");
    const double time_s = figure(3, "time(ns)") * kNano, busbw = figure(4, "busbw(GB/s)");
    const double expected = factor * static_cast<double>(bytes) / time_s / kGiga;
    expect_rate(busbw, expected,
                fmt::format("busbw is {}, and {} bytes in {} ns of {} among {} ranks are {:.2f} "
                            "GB/s: is it another number of ranks?",
                            cells[4], cells[0], cells[3], collective->name, facts.ranks, expected),
                at);
    sweep.rows.push_back(
        measured(*collective, "cuda", type_of_elements(cells[2], at), facts.ranks, bytes, time_s));
  }
  if (sweep.rows.empty()) refuse_log(name, "has a heading and no rows");
  add_repeated(found);
  found.remarks.push_back("times out of place; those in place are left out");
  return found;
}

}  // namespace db
