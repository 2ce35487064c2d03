#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <utility>

#include "db/sweep_log.h"

namespace db {
namespace {

/// The collective of a title: "# OSU MPI-CUDA Allreduce Latency Test v7.0".
const LoggedCollective* titled(const std::string& line, const LineOfLog& at) {
  const std::size_t begin = std::min(line.find(' ', line.find("MPI")), line.size());
  const std::size_t end = line.find(" Latency Test", begin);
  if (begin + 1 < line.size() && end != std::string::npos && end > begin) {
    const LoggedCollective* found = collective_with(
        &LoggedCollective::title, std::string_view(line).substr(begin + 1, end - begin - 1));
    if (found != nullptr) return found;
  }
  at.refuse(fmt::format("{}: expected the latencies of one of {}", line,
                        all_that_are(&LoggedCollective::title)));
}

/// Where the least and the greatest times of the ranks are, with option -f; 0: not printed.
struct OsuColumns {
  std::size_t least = 0, greatest = 0;
};
/// "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations"
OsuColumns osu_columns(const std::vector<std::string>& heading) {
  OsuColumns found;
  std::size_t column = 0;
  for (const std::string& word : heading) {
    if (word == "Min") found.least = column;
    if (word == "Max") found.greatest = column;
    if (word == "Size" || word.ends_with("(us)")) ++column;
  }
  return found;
}

/// A row is a size, times, and numbers or a verdict on the values behind them.
void expect_osu_row(const std::vector<std::string>& words, const LineOfLog& at) {
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (number_in(words[i]) || words[i] == "Pass" || words[i] == "Fail") continue;
    at.refuse(fmt::format("\"{}\" behind a time: expected numbers (is it a log of nccl-tests?)",
                          words[i]));
  }
}

void read_spread(const std::vector<std::string>& words, const OsuColumns& columns,
                 const LineOfLog& at, Measurement& row) {
  if (columns.least == 0 || columns.greatest == 0) return;
  const auto time_s = [&](std::size_t column) {
    const auto time_us = column < words.size() ? number_in(words[column]) : std::nullopt;
    if (!time_us) at.refuse("expected the least and the greatest time (is the line cut off?)");
    return *time_us * kMicro;
  };
  row.min_s = time_s(columns.least);
  row.max_s = time_s(columns.greatest);
  if (row.min_s >= 0 && row.min_s <= row.time_s && row.time_s <= row.max_s) return;
  at.refuse(fmt::format("the time is {}, the least {}, the greatest {}", words[1],
                        words[columns.least], words[columns.greatest]));
}

}  // namespace

ImportedSweeps read_osu(std::istream& log, const std::string& name, const SweepFacts& facts) {
  if (facts.ranks < 2 || facts.nodes < 1 || facts.device.empty()) {
    refuse_log(name,
               "OSU's logs do not say where they are from: expected --ranks, --nodes, --device and "
               "--machine");
  }
  const std::vector<std::string> hosts = told_hosts(name, facts, facts.nodes);
  const LoggedCollective* asked = asked_collective(name, facts);
  const LoggedCollective* collective = asked != nullptr ? asked : collective_of_file(name);
  ImportedSweeps found;
  LineOfLog at{name, 0};
  int others = 0, wrong = 0, without_size = 0;
  bool names_no_gpus = false;
  std::string type;  // where it is printed
  OsuColumns columns;
  ImportedSweep sweep;
  const auto begin_table = [&] {
    if (!sweep.rows.empty()) found.sweeps.push_back(std::move(sweep));
    sweep = {{}, hosts, facts.gpu, facts.machine, facts.network};
  };
  begin_table();
  for (std::string printed; std::getline(log, printed);) {
    ++at.number;
    const std::string line = untagged(printed);
    const std::vector<std::string> words = words_in(line);
    if (line.starts_with("# OSU")) {
      begin_table();
      columns = {};
      type.clear();
      collective = titled(line, at);
      names_no_gpus |= line.starts_with("# OSU MPI ") && facts.device == "cuda";
      if (line.starts_with("# OSU MPI-") && facts.device == "cpu") {
        at.refuse(fmt::format("{}: arrays on GPUs, and --device is cpu", line));
      }
      if (asked != nullptr && collective != asked) {
        at.refuse(fmt::format("is of {}, and --collective is {}", collective->name, asked->name));
      }
    }
    if (words.size() > 2 && words[1] == "Datatype:") {  // "# Datatype: MPI_FLOAT."
      type = type_of_elements(words[2].substr(0, words[2].find('.')), at);
    }
    if (words.size() > 1 && words[1] == "Size") columns = osu_columns(words);
    if (words.empty() || line.starts_with("#")) continue;
    if (!begins_with_size(words)) {
      ++others;
      continue;
    }
    if (collective == nullptr) {
      at.refuse("nothing says which collective: expected --collective NAME");
    }
    const std::int64_t bytes =
        size_in_bytes(words[0], collective->is_of_parts ? facts.ranks : 1, at);
    const auto time_us = words.size() > 1 ? number_in(words[1]) : std::nullopt;
    if (!time_us || !(*time_us > 0)) {
      at.refuse("expected a size in bytes and its time in microseconds (is the line cut off?)");
    }
    expect_osu_row(words, at);
    if (bytes == 0 || words.back() == "Fail") {
      ++(bytes == 0 ? without_size : wrong);
      continue;
    }
    sweep.rows.push_back(measured(*collective, facts.device, type.empty() ? "f32" : type,
                                  facts.ranks, bytes, *time_us * kMicro));
    read_spread(words, columns, at, sweep.rows.back());
  }
  begin_table();
  if (found.sweeps.empty()) refuse_log(name, "has no table of OSU's benchmarks");
  add_left_out(others, "line", " of other programs", found);
  add_left_out(wrong, "row", " with wrong values", found);
  add_left_out(without_size, "row", " without a size", found);
  add_repeated(found);
  if (names_no_gpus) {
    found.remarks.push_back(
        "\"# OSU MPI \" names no GPUs (older builds never do): on GPUs, as --device says");
  }
  return found;
}

}  // namespace db
