#include "db/import_sweeps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <istream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "db/collective_facts.h"
#include "db/error.h"
#include "db/logged_collectives.h"
#include "db/store.h"
#include "db/transaction.h"

namespace db {
namespace {

constexpr double kMicro = 1e-6, kGiga = 1e9;
constexpr double kRounded = 0.02;    ///< figures of two digits and more agree to this
constexpr double kTwoDigits = 0.01;  ///< half of what the last of two digits behind the point is
constexpr std::size_t kNcclHead = 3,
                      kNcclTimes = 4;  ///< size, count, type; time, algbw, busbw, #wrong

/// Where a line stands.
struct LineOfLog {
  std::string file;
  int number = 0;
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::invalid, fmt::format("{}, line {}: {}", file, number, why));
  }
};

std::vector<std::string> words_in(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

std::optional<double> number_in(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool read = error == std::errc() && end == word.data() + word.size();
  return read && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool begins_with_size(const std::vector<std::string>& words) {
  return !words.empty() && number_in(words[0]) && std::isdigit(words[0][0]) != 0;
}

/// Printed figures that agree but for their rounding.
bool agree(double printed, double expected) {
  return std::abs(printed - expected) <= kTwoDigits + kRounded * std::abs(expected);
}

/// The ranks of a sweep on `nodes` equal nodes of this name.
std::vector<std::string> equal_nodes(const std::string& machine, int ranks, int nodes) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < ranks; ++rank) {
    hosts.push_back(nodes == 1 ? machine : fmt::format("{}-{}", machine, rank / (ranks / nodes)));
  }
  return hosts;
}

[[noreturn]] void refuse_log(const std::string& name, const std::string& why) {
  throw Error(ErrorKind::invalid, fmt::format("{}: {}", name, why));
}

void expect_nodes(const std::string& name, int ranks, int nodes) {
  if (nodes >= 1 && nodes <= ranks && ranks % nodes == 0) return;
  refuse_log(name, fmt::format("--nodes {}: expected a divisor of {} ranks", nodes, ranks));
}

/// That of --collective; null without it.
const LoggedCollective* asked_collective(const std::string& name, const SweepFacts& facts) {
  if (facts.collective.empty()) return nullptr;
  const LoggedCollective* asked = collective_with(&LoggedCollective::name, facts.collective);
  if (asked != nullptr) return asked;
  refuse_log(name, fmt::format("--collective {}: expected one of {}", facts.collective,
                               all_that_are(&LoggedCollective::name)));
}

Measurement measured(const LoggedCollective& collective, const std::string& device, int ranks,
                     double bytes, double time_s) {
  Measurement row;
  row.op = collective.name;
  row.device = device;
  row.dtype = "f32";
  row.ranks = ranks;
  row.parameters_json = "{}";
  row.bytes = static_cast<std::int64_t>(bytes);
  row.time_s = row.min_s = row.max_s = time_s;
  row.samples = 1;
  row.algorithm_bandwidth_bytes_per_s = bytes / time_s;
  row.bus_bandwidth_bytes_per_s = bus_factor(row.op, ranks).value() * bytes / time_s;
  return row;
}

/// Remarks that so many were left out, where there are any.
void add_left_out(int count, const char* one, const char* several, const char* what,
                  ImportedSweeps& imported) {
  if (count == 0) return;
  imported.remarks.push_back(
      fmt::format("{} {}{} left out", count, count == 1 ? one : several, what));
}

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

/// Reads a log of nccl-tests line by line.
class NcclLog {
 public:
  NcclLog(const std::string& name, const SweepFacts& facts) : facts_(facts), at_{name, 0} {}

  ImportedSweeps read(std::istream& log) {
    for (std::string line; std::getline(log, line);) {
      ++at_.number;
      const std::vector<std::string> words = words_in(line);
      read_program(words);
      if (line.starts_with("# nThread")) begin_table();
      if (line.starts_with("#")) {
        read_rank(line, words);
      } else if (begins_with_size(words)) {
        read_row(words);
      } else if (!words.empty()) {
        ++others_;
      }
    }
    end_table();
    if (found_.sweeps.empty()) {
      refuse_log(at_.file,
                 "has no table of nccl-tests: expected lines of size, count, type, redop, "
                 "root, and twice time, algbw, busbw and #wrong");
    }
    add_left_out(others_, "line", "lines", " of other programs", found_);
    add_left_out(wrong_, "row", "rows", " with wrong values", found_);
    add_left_out(not_measured_, "row", "rows", " without a time (N/A)", found_);
    found_.remarks.push_back("times out of place; those in place are left out");
    return std::move(found_);
  }

 private:
  void begin_table() {
    end_table();
    ranks_.clear();
  }

  /// "./build/all_reduce_perf"
  void read_program(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      const std::string_view program = std::string_view(word).substr(word.rfind('/') + 1);
      if (!program.ends_with("_perf")) continue;
      named_ = collective_with(&LoggedCollective::program, program);
      if (named_ != nullptr) return;
      at_.refuse(
          fmt::format("{}: expected one of {}", program, all_that_are(&LoggedCollective::program)));
    }
  }

  /// "#  Rank  0 Group  0 Pid   4000 on   node-00 device  0 [0x10] NVIDIA H200"
  void read_rank(const std::string& line, const std::vector<std::string>& words) {
    const auto on = std::ranges::find(words, "on");
    const auto close = line.find("] ");
    if (words.size() < 4 || words[1] != "Rank" || on == words.end() || on + 1 == words.end())
      return;
    if (number_in(words[2]) != static_cast<double>(ranks_.size())) {
      at_.refuse(fmt::format("rank {}, expected rank {}: the log leaves ranks out", words[2],
                             ranks_.size()));
    }
    const std::string gpu = close == std::string::npos ? "" : line.substr(close + 2);
    ranks_.push_back({*(on + 1), gpu.substr(0, gpu.find_last_not_of(" \r") + 1)});
  }

  const LoggedCollective& collective() const {
    const LoggedCollective* asked = asked_collective(at_.file, facts_);
    const LoggedCollective* of_file = collective_of_file(at_.file);
    for (const LoggedCollective* one : {asked, named_, of_file}) {
      if (one != nullptr) return *one;
    }
    refuse_log(at_.file,
               "neither the log nor the file's name says which collective: expected "
               "--collective NAME");
  }

  /// Of the table that is read.
  std::vector<std::string> hosts() const {
    std::vector<std::string> hosts;
    for (const auto& [host, gpu] : ranks_) hosts.push_back(host);
    if (hosts.empty() && facts_.ranks == 0) {
      refuse_log(at_.file, "has no lines \"# Rank 0 ... on HOST\": expected --ranks and --nodes");
    }
    if (hosts.empty()) {
      expect_nodes(at_.file, facts_.ranks, std::max(facts_.nodes, 1));
      return equal_nodes(facts_.machine.empty() ? "host" : facts_.machine, facts_.ranks,
                         std::max(facts_.nodes, 1));
    }
    const std::set<std::string> nodes(hosts.begin(), hosts.end());
    const auto contradicts = [&](const char* option, int asked, std::size_t said) {
      if (asked == 0 || asked == static_cast<int>(said)) return;
      refuse_log(at_.file, fmt::format("{} {}, but the log has {}", option, asked, said));
    };
    contradicts("--ranks", facts_.ranks, hosts.size());
    contradicts("--nodes", facts_.nodes, nodes.size());
    return hosts;
  }

  void read_row(const std::vector<std::string>& words) {
    if (table_.hosts.empty()) {
      table_.hosts = hosts();
      if (!ranks_.empty()) table_.gpu = ranks_.front().second;
      of_table_ = &collective();
    }
    // After the type come redop and root, or one of them, or none, as in older versions.
    const std::size_t told = words.size() > kNcclHead ? words.size() - kNcclHead : 0;
    const std::size_t between = told % kNcclTimes;
    if (between > 2 || told < kNcclTimes) {
      at_.refuse(
          fmt::format("{} words: expected size, count, type, redop, root, and twice time, "
                      "algbw, busbw and #wrong (is the line cut off?)",
                      words.size()));
    }
    const std::size_t first = kNcclHead + between;
    if (words[first] == "N/A") {
      ++not_measured_;
      return;
    }
    const auto figure = [&](std::size_t place, const char* column) {
      const auto value = number_in(words[place]);
      if (value && *value >= 0) return *value;
      at_.refuse(fmt::format("{} is \"{}\": expected a number", column, words[place]));
    };
    const double bytes = figure(0, "size"), time_us = figure(first, "time");
    const double algbw = figure(first + 1, "algbw"), busbw = figure(first + 2, "busbw");
    if (const auto wrong = number_in(words[first + 3]); wrong && *wrong > 0 && *wrong >= 1) {
      ++wrong_;
      return;
    }
    const auto ranks = static_cast<int>(table_.hosts.size());
    if (!(time_us > 0) || !(bytes > 0)) {
      ++not_measured_;
      return;
    }
    const double time_s = time_us * kMicro;
    if (!agree(algbw, bytes / time_s / kGiga)) {
      at_.refuse(fmt::format("{} bytes in {} us are {:.2f} GB/s, and algbw is {}", words[0],
                             words[first], bytes / time_s / kGiga, words[first + 1]));
    }
    const double expected = bus_factor(of_table_->name, ranks).value() * bytes / time_s / kGiga;
    if (!agree(busbw, expected)) {
      at_.refuse(
          fmt::format("busbw is {}, and that of {} among {} ranks {:.2f}: is it another "
                      "collective (--collective NAME), or another number of ranks?",
                      words[first + 2], of_table_->name, ranks, expected));
    }
    table_.rows.push_back(measured(*of_table_, "cuda", ranks, bytes, time_s));
    table_.rows.back().dtype = words[2];
  }

  void end_table() {
    if (!table_.rows.empty()) found_.sweeps.push_back(std::move(table_));
    table_ = {};
  }

  const SweepFacts& facts_;
  LineOfLog at_;
  ImportedSweeps found_;
  const LoggedCollective* named_ = nullptr;  ///< by the log
  const LoggedCollective* of_table_ = nullptr;
  std::vector<std::pair<std::string, std::string>> ranks_;  ///< host and GPU
  ImportedSweep table_;                                     ///< that is read
  int others_ = 0, wrong_ = 0, not_measured_ = 0;
};

}  // namespace

ImportedSweeps read_nccl_tests(std::istream& log, const std::string& name,
                               const SweepFacts& facts) {
  return NcclLog(name, facts).read(log);
}

ImportedSweeps read_osu(std::istream& log, const std::string& name, const SweepFacts& facts) {
  if (facts.ranks < 2 || facts.nodes < 1 || facts.device.empty()) {
    refuse_log(name,
               "OSU's logs do not say where they are from: expected --ranks, --nodes and "
               "--device");
  }
  expect_nodes(name, facts.ranks, facts.nodes);
  const LoggedCollective* asked = asked_collective(name, facts);
  const LoggedCollective* collective = asked;
  ImportedSweeps found;
  LineOfLog at{name, 0};
  int others = 0, wrong = 0;
  ImportedSweep sweep;
  const auto begin_table = [&] {
    if (!sweep.rows.empty()) found.sweeps.push_back(std::move(sweep));
    sweep = {{},
             equal_nodes(facts.machine.empty() ? "host" : facts.machine, facts.ranks, facts.nodes),
             ""};
  };
  begin_table();
  for (std::string line; std::getline(log, line);) {
    ++at.number;
    const std::vector<std::string> words = words_in(line);
    if (line.starts_with("# OSU")) {
      begin_table();
      collective = titled(line, at);
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
        measured(*collective, facts.device, facts.ranks, whole, *time_us * kMicro));
  }
  begin_table();
  if (found.sweeps.empty()) refuse_log(name, "has no table of OSU's benchmarks");
  add_left_out(others, "line", "lines", " of other programs", found);
  add_left_out(wrong, "row", "rows", " with wrong values", found);
  return found;
}

std::vector<std::int64_t> store_sweeps(Connection& connection, const Run& run,
                                       const ImportedSweeps& imported) {
  std::vector<std::int64_t> ids;
  Transaction transaction(connection, "store measurements of another program");
  for (const ImportedSweep& sweep : imported.sweeps) {
    Machine machine;
    machine.hostname = sweep.hosts.front();
    machine.cpu = "known by a log alone";
    machine.gpu = sweep.gpu;
    machine.gpu_count = static_cast<int>(std::ranges::count(sweep.hosts, sweep.hosts.front()));
    machine.libraries_json = "{}";
    machine.fingerprint = content_hash(fmt::format("{}\n{}\n{}\n{}", machine.cpu, machine.hostname,
                                                   machine.gpu, machine.gpu_count));
    Run of_sweep = run;
    of_sweep.device = sweep.rows.front().device;
    of_sweep.ranks = static_cast<int>(sweep.hosts.size());
    of_sweep.revision.clear();  // of another program
    of_sweep.network.clear();
    const std::int64_t id = begin_run(connection, std::move(of_sweep), machine);
    std::vector<RunRank> ranks;
    std::map<std::string, int> nodes;
    for (const std::string& host : sweep.hosts) {
      RunRank& rank = ranks.emplace_back();
      rank.run_id = id;
      rank.rank = static_cast<int>(ranks.size()) - 1;
      rank.hostname = host;
      rank.node = nodes.try_emplace(host, static_cast<int>(nodes.size())).first->second;
    }
    insert(connection, ranks);
    std::vector<Measurement> rows = sweep.rows;
    for (Measurement& row : rows) row.run_id = id;
    insert(connection, rows);
    finish_run(connection, id, "done");
    ids.push_back(id);
  }
  transaction.commit();
  return ids;
}

}  // namespace db
