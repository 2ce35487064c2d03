#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <map>
#include <utility>

#include "db/collective_facts.h"
#include "db/console/shown_text.h"
#include "db/sweep_log.h"

namespace db {
namespace {

constexpr std::size_t kNcclHead = 3,
                      kNcclTimes = 4;  ///< size, count, type; time, algbw, busbw, #wrong

/// Programs of nccl-tests and rccl-tests of which moelab has no collective.
constexpr std::array<std::string_view, 5> kNotImported{
    "sendrecv_perf", "gather_perf", "scatter_perf", "hypercube_perf", "alltoallv_perf"};

/// Reads a log of nccl-tests line by line.
class NcclLog {
 public:
  NcclLog(const std::string& name, const SweepFacts& facts) : facts_(facts), at_{name, 0} {}

  ImportedSweeps read(std::istream& log) {
    for (std::string printed; std::getline(log, printed);) {
      ++at_.number;
      const std::string line = untagged(printed);
      const std::vector<std::string> words = words_in(line);
      read_program(words);
      if (line.starts_with("# nThread")) begin_table();
      if (line.find("in-place") != std::string::npos) {
        only_in_place_ = line.find("out-of-place") == std::string::npos;
      }
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
    add_left_out(others_, "line", " of other programs", found_);
    add_left_out(wrong_, "row", " with wrong values", found_);
    add_left_out(not_measured_, "row", " without a size or a time (N/A)", found_);
    add_repeated(found_);
    if (has_out_of_place_) {
      found_.remarks.push_back("times out of place; those in place are left out");
    }
    if (in_place_ > 0) {
      found_.remarks.push_back(counted(in_place_, "row") +
                               " in place, since nothing else was timed");
    }
    return std::move(found_);
  }

 private:
  void begin_table() {
    end_table();
    ranks_.clear();
    only_in_place_ = false;
  }

  /// "./build/all_reduce_perf". Words of other programs may end so, too: "check_perf".
  void read_program(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      const std::string_view program = std::string_view(word).substr(word.rfind('/') + 1);
      if (std::ranges::find(kNotImported, program) != kNotImported.end()) {
        at_.refuse(fmt::format("{}: expected one of {}", program,
                               all_that_are(&LoggedCollective::program)));
      }
      if (const auto* named = collective_with(&LoggedCollective::program, program)) {
        named_ = named;
        return;
      }
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
    if (asked != nullptr && named_ != nullptr && asked != named_) {
      at_.refuse(fmt::format("is of {}, and --collective is {}", named_->program, asked->name));
    }
    for (const LoggedCollective* one : {asked, named_, of_file}) {
      if (one != nullptr) return *one;
    }
    refuse_log(at_.file,
               "neither the log nor the file's name says which collective: expected "
               "--collective NAME");
  }

  /// Machine, hosts and GPU of the table that is read.
  void begin_rows() {
    of_table_ = &collective();
    table_.network = facts_.network;
    table_.gpu = facts_.gpu;
    if (ranks_.empty()) {
      if (facts_.ranks == 0) {
        refuse_log(at_.file, "has no lines \"# Rank 0 ... on HOST\": expected --ranks and --nodes");
      }
      table_.hosts = told_hosts(at_.file, facts_, 1);
      table_.machine = facts_.machine;
      return;
    }
    for (const auto& [host, gpu] : ranks_) table_.hosts.push_back(host);
    table_.machine = facts_.machine.empty() ? table_.hosts.front() : facts_.machine;
    if (table_.gpu.empty()) table_.gpu = ranks_.front().second;
    std::map<std::string, int> nodes;  // [host]: its ranks
    for (const std::string& host : table_.hosts) ++nodes[host];
    for (const auto& [host, ranks] : nodes) {
      const auto& [first, expected] = *nodes.begin();
      if (ranks == expected) continue;
      refuse_log(at_.file, fmt::format("{} on {} and {} on {}: expected as many on each host",
                                       counted(expected, "rank"), first, ranks, host));
    }
    const auto contradicts = [&](const char* option, int asked, std::size_t said) {
      if (asked == 0 || asked == static_cast<int>(said)) return;
      refuse_log(at_.file, fmt::format("{} {}, but the log has {}", option, asked, said));
    };
    contradicts("--ranks", facts_.ranks, table_.hosts.size());
    contradicts("--nodes", facts_.nodes, nodes.size());
    for (const auto& [host, gpu] : ranks_) {
      if (gpu == table_.gpu || gpu.empty()) continue;
      refuse_log(at_.file, fmt::format("GPUs \"{}\" and \"{}\"{}: expected one kind", table_.gpu,
                                       gpu, facts_.gpu.empty() ? "" : " (--gpu)"));
    }
  }

  /// Whether the four columns of times that begin there are of a measurement. Rows with wrong values
  /// are none.
  bool is_timed(const std::vector<std::string>& words, std::size_t first) const {
    return first < words.size() && words[first] != "N/A" && number_in(words[first]) != 0.0;
  }

  void read_row(const std::vector<std::string>& words) {
    if (table_.hosts.empty()) begin_rows();
    // After the type come redop and root, or one of them, or none, as in older versions.
    const std::size_t told = words.size() > kNcclHead ? words.size() - kNcclHead : 0;
    const std::size_t between = told % kNcclTimes;
    if (columns_ == 0) columns_ = words.size();
    if (between > 2 || told < kNcclTimes || words.size() != columns_) {
      at_.refuse(fmt::format(
          "{} words: expected {}size, count, type, redop, root, and twice time, algbw, "
          "busbw and #wrong (is the line cut off?)",
          words.size(), words.size() == columns_ ? "" : fmt::format("{}, as before: ", columns_)));
    }
    const std::size_t outside = kNcclHead + between, inside = outside + kNcclTimes;
    const bool in_place = only_in_place_ || (!is_timed(words, outside) && is_timed(words, inside));
    const std::size_t first = in_place && !only_in_place_ ? inside : outside;
    const auto figure = [&](std::size_t place, const char* column) {
      const auto value = number_in(words[place]);
      if (value && *value >= 0) return *value;
      at_.refuse(fmt::format("{} is \"{}\": expected a number", column, words[place]));
    };
    const std::int64_t bytes = size_in_bytes(words[0], 1, at_);
    if (!is_timed(words, first) || bytes == 0) {
      ++not_measured_;
      return;
    }
    const double time_us = figure(first, "time");
    const double algbw = figure(first + 1, "algbw"), busbw = figure(first + 2, "busbw");
    if (const auto wrong = number_in(words[first + 3]); wrong && *wrong >= 1) {
      ++wrong_;
      return;
    }
    const auto ranks = static_cast<int>(table_.hosts.size());
    const double time_s = time_us * kMicro, rate = static_cast<double>(bytes) / time_s / kGiga;
    expect_rate(algbw, rate,
                fmt::format("{} bytes in {} us are {:.2f} GB/s, and algbw is {}", words[0],
                            words[first], rate, words[first + 1]),
                at_);
    const double expected = bus_factor(of_table_->name, ranks).value() * rate;
    expect_rate(busbw, expected,
                fmt::format("busbw is {}, and that of {} among {} ranks {:.2f}: is it another "
                            "collective (--collective NAME), or another number of ranks?",
                            words[first + 2], of_table_->name, ranks, expected),
                at_);
    in_place_ += in_place ? 1 : 0;
    has_out_of_place_ |= !in_place;
    table_.rows.push_back(
        measured(*of_table_, "cuda", type_of_elements(words[2], at_), ranks, bytes, time_s));
  }

  void end_table() {
    if (!table_.rows.empty()) found_.sweeps.push_back(std::move(table_));
    table_ = {};
    columns_ = 0;
  }

  const SweepFacts& facts_;
  LineOfLog at_;
  ImportedSweeps found_;
  const LoggedCollective* named_ = nullptr;  ///< by the log
  const LoggedCollective* of_table_ = nullptr;
  std::vector<std::pair<std::string, std::string>> ranks_;  ///< host and GPU
  ImportedSweep table_;                                     ///< that is read
  std::size_t columns_ = 0;                                 ///< of its rows; 0: none was read
  bool only_in_place_ = false;                              ///< as its heading says
  bool has_out_of_place_ = false;                           ///< of the rows that are taken
  int others_ = 0, wrong_ = 0, not_measured_ = 0, in_place_ = 0;
};

}  // namespace

ImportedSweeps read_nccl_tests(std::istream& log, const std::string& name,
                               const SweepFacts& facts) {
  return NcclLog(name, facts).read(log);
}

}  // namespace db
