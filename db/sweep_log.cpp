#include "db/sweep_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include "db/collective_facts.h"
#include "db/console/shown_text.h"
#include "db/number_range.h"

namespace db {
namespace {

constexpr double kRounded = 0.02;    ///< figures of two digits and more agree to this
constexpr double kTwoDigits = 0.01;  ///< half of what the last of two digits behind the point is

/// Types as nccl-tests, rccl-tests and OSU's benchmarks print them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kTypes{
    {{"float", "f32"},       {"half", "f16"},        {"bfloat16", "bf16"}, {"double", "f64"},
     {"int8", "i8"},         {"uint8", "u8"},        {"int32", "i32"},     {"uint32", "u32"},
     {"int64", "i64"},       {"uint64", "u64"},      {"f8e4m3", "f8e4m3"}, {"f8e5m2", "f8e5m2"},
     {"fp8_e4m3", "f8e4m3"}, {"fp8_e5m2", "f8e5m2"}, {"char", "i8"},       {"int", "i32"},
     {"MPI_CHAR", "i8"},     {"MPI_INT", "i32"},     {"MPI_FLOAT", "f32"}, {"MPI_DOUBLE", "f64"}}};

}  // namespace

std::string untagged(const std::string& line) {
  const auto without_indent = [](const std::string& text) {
    return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  };
  const std::string text = without_indent(line);
  const std::size_t end = text.starts_with('[') ? text.find(">:") : std::string::npos;
  const bool is_tag = end != std::string::npos && text.find("]<std") < end;
  return is_tag ? without_indent(text.substr(end + 2)) : text;
}

std::vector<std::string> words_in(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

bool begins_with_size(const std::vector<std::string>& words) {
  return !words.empty() && number_in(words[0]) && std::isdigit(words[0][0]) != 0;
}

std::int64_t size_in_bytes(const std::string& printed, int parts, const LineOfLog& at) {
  const auto most = static_cast<std::int64_t>(range_of("measurement", "bytes").most) / parts;
  if (const auto bytes = whole_number_in(printed, most)) return *bytes * parts;
  at.refuse(
      fmt::format("size is \"{}\": expected a whole number of bytes up to {}", printed, most));
}

void expect_rate(double printed, double expected, const std::string& what, const LineOfLog& at) {
  if (std::abs(printed - expected) <= kTwoDigits + kRounded * std::abs(expected)) return;
  at.refuse(what);
}

std::string type_of_elements(const std::string& printed, const LineOfLog& at) {
  std::vector<std::string_view> known;
  for (const auto& [name, type] : kTypes) {
    if (name == printed) return std::string(type);
    known.push_back(name);
  }
  at.refuse(fmt::format("type is \"{}\": expected one of {}", printed, fmt::join(known, ", ")));
}

const LoggedCollective* asked_collective(const std::string& name, const SweepFacts& facts) {
  if (facts.collective.empty()) return nullptr;
  const LoggedCollective* asked = collective_with(&LoggedCollective::name, facts.collective);
  if (asked != nullptr) return asked;
  refuse_log(name, fmt::format("--collective {}: expected one of {}", facts.collective,
                               all_that_are(&LoggedCollective::name)));
}

std::vector<std::string> told_hosts(const std::string& name, const SweepFacts& facts, int nodes) {
  const int asked = facts.nodes > 0 ? facts.nodes : nodes;
  if (facts.machine.empty()) {
    refuse_log(name, "does not say where it was measured: expected --machine NAME");
  }
  if (asked < 1 || asked > facts.ranks || facts.ranks % asked != 0) {
    refuse_log(name, fmt::format("--nodes {}: expected a divisor of {} ranks", asked, facts.ranks));
  }
  std::vector<std::string> hosts;
  for (int rank = 0; rank < facts.ranks; ++rank) {
    hosts.push_back(asked == 1 ? facts.machine
                               : fmt::format("{}-{}", facts.machine, rank / (facts.ranks / asked)));
  }
  return hosts;
}

Measurement measured(const LoggedCollective& collective, const std::string& device,
                     const std::string& dtype, int ranks, std::int64_t bytes, double time_s) {
  Measurement row;
  row.op = collective.name;
  row.device = device;
  row.dtype = dtype;
  row.ranks = ranks;
  row.parameters_json = "{}";
  row.bytes = bytes;
  row.time_s = row.min_s = row.max_s = time_s;
  row.samples = 1;
  row.algorithm_bandwidth_bytes_per_s = static_cast<double>(bytes) / time_s;
  row.bus_bandwidth_bytes_per_s =
      bus_factor(row.op, ranks).value() * row.algorithm_bandwidth_bytes_per_s;
  return row;
}

void add_left_out(int count, const char* one, const char* what, ImportedSweeps& imported) {
  if (count == 0) return;
  imported.remarks.push_back(fmt::format("{}{} left out", counted(count, one), what));
}

void add_repeated(ImportedSweeps& imported) {
  int repeated = 0;
  for (const ImportedSweep& sweep : imported.sweeps) {
    std::set<std::pair<std::string, std::int64_t>> sizes;
    for (const Measurement& row : sweep.rows) {
      repeated += sizes.emplace(row.dtype, row.bytes).second ? 0 : 1;
    }
  }
  if (repeated == 0) return;
  imported.remarks.push_back(fmt::format("{} of a size that its table had before: all are taken",
                                         counted(repeated, "row")));
}

}  // namespace db
