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

}  // namespace

ImportedSweeps read_osu(std::istream& log, const std::string& name, const SweepFacts& facts) {
  if (facts.ranks < 2 || facts.nodes < 1 || facts.device.empty()) {
    refuse_log(name,
               "OSU's logs do not say where they are from: expected --ranks, --nodes, --device and "
               "--machine");
  }
  const std::vector<std::string> hosts = told_hosts(name, facts, facts.nodes);
  const LoggedCollective* asked = asked_collective(name, facts);
  const LoggedCollective* collective = asked;
  ImportedSweeps found;
  LineOfLog at{name, 0};
  int others = 0, wrong = 0;
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
      collective = titled(line, at);
      if (line.starts_with("# OSU MPI-") && facts.device == "cpu") {
        at.refuse(fmt::format("{}: arrays on GPUs, and --device is cpu", line));
      }
      if (asked != nullptr && collective != asked) {
        at.refuse(fmt::format("is of {}, and --collective is {}", collective->name, asked->name));
      }
    }
    if (words.empty() || line.starts_with("#")) continue;
    if (!begins_with_size(words)) {
      ++others;
      continue;
    }
    if (collective == nullptr)
      at.refuse("nothing says which collective: expected --collective NAME");
    const auto bytes = number_in(words[0]);
    const auto time_us = words.size() > 1 ? number_in(words[1]) : std::nullopt;
    if (!time_us || !(*time_us > 0)) {
      at.refuse("expected a size in bytes and its time in microseconds (is the line cut off?)");
    }
    if (words.back() == "Fail") {
      ++wrong;
      continue;
    }
    const double whole = *bytes * (collective->is_of_parts ? facts.ranks : 1);
    sweep.rows.push_back(
        measured(*collective, facts.device, "f32", facts.ranks, whole, *time_us * kMicro));
  }
  begin_table();
  if (found.sweeps.empty()) refuse_log(name, "has no table of OSU's benchmarks");
  add_left_out(others, "line", "lines", " of other programs", found);
  add_left_out(wrong, "row", "rows", " with wrong values", found);
  return found;
}

}  // namespace db
