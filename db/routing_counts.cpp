#include "db/routing_counts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "db/console/json_levels.h"
#include "db/console/shown_text.h"
#include "db/line_of_log.h"

namespace db {
namespace {

constexpr std::int64_t kMostOfCounts = 1'000'000'000'000;  ///< they add up to far less than 2^63
constexpr std::int64_t kMostOfNumbers = 1'000'000;         ///< layers, ranks, experts
constexpr std::int64_t kMostSteps = 1'000'000'000;

/// [iteration, layer, rank][expert], of those that were named.
using Counted = std::map<std::tuple<int, int, int>, std::map<int, std::int64_t>>;

struct ReadCounts {
  Counted counted;
  std::optional<int> experts = {};  ///< that there may be; the others are named
  RoutingCounts found = {};
};

void add_count(ReadCounts& read, const std::tuple<int, int, int>& place, std::int64_t expert,
               std::int64_t count, const LineOfLog& at) {
  if (read.experts && expert >= *read.experts) {
    at.refuse(fmt::format("expert {}: expected one below {}", expert, *read.experts));
  }
  read.counted[place][static_cast<int>(expert)] += count;
}

std::int64_t integer_of(const nlohmann::json& value, const std::string& what, std::int64_t most,
                        const LineOfLog& at) {
  const bool is_one = value.is_number_integer() && value >= 0 && value <= most;
  if (is_one) return value.get<std::int64_t>();
  at.refuse(fmt::format("{} is {}: expected an integer from 0 to {}", what,
                        value.dump().substr(0, 40), most));
}

nlohmann::json parsed(const std::string& text, const LineOfLog& at) {
  using Event = nlohmann::json::parse_event_t;
  const auto check = [&](int levels, Event event, const nlohmann::json&) {
    const bool opens = event == Event::array_start || event == Event::object_start;
    if (!opens || levels < kMostJsonLevels) return true;
    at.refuse(fmt::format("expected at most {} levels of lists and objects", kMostJsonLevels));
  };
  nlohmann::json json = nlohmann::json::parse(text, check, false);
  if (json.is_discarded()) at.refuse("is not JSON (is it cut off?)");
  return json;
}

/// Counts of EPLB, of which the whole file is one value.
void read_lists(const std::string& text, const LineOfLog& at, ReadCounts& read) {
  const nlohmann::json layers = parsed(text, at);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const nlohmann::json& counts = layers[layer];
    if (!counts.is_array() || counts.empty() || counts.size() != layers[0].size()) {
      at.refuse(fmt::format("layer {}: expected a list of a count per expert, as long as the first",
                            layer));
    }
    if (!read.experts) read.experts = static_cast<int>(counts.size());  // lists have all
    for (std::size_t expert = 0; expert < counts.size(); ++expert) {
      const std::string what = fmt::format("layer {}, expert {}", layer, expert);
      add_count(read, {0, static_cast<int>(layer), 0}, static_cast<std::int64_t>(expert),
                integer_of(counts[expert], what, kMostOfCounts, at), at);
    }
  }
}

/// A record of Megatron-LM's trace. Returns whether it was of an MTP layer.
bool read_record(const nlohmann::json& record, const LineOfLog& at, ReadCounts& read) {
  if (!record.is_object() || !record.contains("layer") || !record.contains("top_indices")) {
    at.refuse(record.is_object() && record.contains("layers")
                  ? "is a routing file, which moe-tune --routing reads as it is"
                  : "expected {\"layer\": N, \"top_indices\": [[expert, ...], per token ...]}");
  }
  if (record.contains("block") && record["block"] == "mtp") return true;
  const auto number = [&](const char* key, std::int64_t most) {
    if (!record.contains(key)) return 0;
    return static_cast<int>(integer_of(record[key], key, most, at));
  };
  const std::tuple place{number("step", kMostSteps), number("layer", kMostOfNumbers),
                         number("rank", kMostOfNumbers)};
  const nlohmann::json& tokens = record["top_indices"];
  if (!tokens.is_array()) at.refuse("top_indices: expected a list of tokens");
  const auto said = record.find("num_tokens");
  if (said != record.end() && *said != tokens.size()) {
    at.refuse(fmt::format("num_tokens is {}, and top_indices has {}", said->dump(), tokens.size()));
  }
  const auto choices = record.find("topk");
  for (std::size_t token = 0; token < tokens.size(); ++token) {
    const nlohmann::json& chosen = tokens[token];
    if (choices != record.end() && *choices != chosen.size()) {
      at.refuse(fmt::format("topk is {}, and token {} chooses {}", choices->dump().substr(0, 40),
                            token, chosen.dump().substr(0, 40)));
    }
    if (!read.found.choices) read.found.choices = static_cast<int>(chosen.size());
    if (!chosen.is_array() || static_cast<int>(chosen.size()) != *read.found.choices ||
        chosen.empty()) {
      at.refuse(fmt::format("token {} chooses {}: expected a list of {} experts, as before", token,
                            chosen.dump().substr(0, 40), *read.found.choices));
    }
    std::set<std::int64_t> different;
    for (const nlohmann::json& expert : chosen) {
      const std::string what = fmt::format("an expert of token {}", token);
      different.insert(integer_of(expert, what, kMostOfNumbers, at));
    }
    if (different.size() != chosen.size()) {
      at.refuse(fmt::format("token {} chooses an expert twice: {}", token, chosen.dump()));
    }
    for (const std::int64_t expert : different) add_count(read, place, expert, 1, at);
  }
  return false;
}

void read_trace(const std::string& first, std::istream& file, LineOfLog at, ReadCounts& read) {
  int left_out = 0, records = 0;
  std::string line = first;
  do {
    if (line.find_first_not_of(" \t\r") != std::string::npos) {
      read_record(parsed(line, at), at, read) ? ++left_out : ++records;
    }
    ++at.number;
  } while (std::getline(file, line));
  if (left_out > 0) {
    read.found.remarks.push_back(counted(left_out, "record") + " of MTP layers left out");
  }
  if (records > static_cast<int>(read.counted.size())) {
    read.found.remarks.push_back(
        fmt::format("{} records are added up to {} of a step, layer and rank (micro-batches)",
                    records, read.counted.size()));
  }
}

void read_csv(const std::string& first, std::istream& file, LineOfLog at, ReadCounts& read) {
  constexpr std::array columns{"layer", "expert", "count", "rank", "step"};
  constexpr std::array most{kMostOfNumbers, kMostOfNumbers, kMostOfCounts, kMostOfNumbers,
                            kMostSteps};
  constexpr std::size_t needed = 3;
  const std::vector<std::string> heading = csv_cells(first);
  std::vector<std::size_t> column_of;  // [cell]
  for (const std::string& cell : heading) {
    const auto* found = std::ranges::find(columns, cell);
    const auto column = static_cast<std::size_t>(found - columns.begin());
    if (found == columns.end() || std::ranges::count(column_of, column) > 0) {
      at.refuse(
          fmt::format("\"{}\" in the heading: expected {} once each, the last two only where "
                      "there are several",
                      cell.substr(0, 40), fmt::join(columns, ", ")));
    }
    column_of.push_back(column);
  }
  for (std::size_t column = 0; column < needed; ++column) {
    if (std::ranges::count(column_of, column) == 0) {
      at.refuse(fmt::format("the heading has no column {}", columns[column]));
    }
  }
  std::map<std::array<std::int64_t, 4>, int> lines;
  for (std::string line; std::getline(file, line);) {
    ++at.number;
    if (line.empty() || line == "\r") continue;
    const std::vector<std::string> cells = csv_cells(line);
    if (cells.size() != heading.size()) {
      at.refuse(fmt::format("{} cells, but the heading has {}", cells.size(), heading.size()));
    }
    std::array<std::int64_t, columns.size()> values{};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::size_t column = column_of[i];
      const auto value = whole_number_in(cells[i], most[column]);
      if (!value) {
        at.refuse(fmt::format("{} is \"{}\": expected an integer from 0 to {}", columns[column],
                              cells[i], most[column]));
      }
      values[column] = *value;
    }
    const auto [layer, expert, count, rank, step] = values;
    const auto [earlier, is_new] = lines.try_emplace({step, layer, rank, expert}, at.number);
    if (!is_new) at.refuse(fmt::format("line {} has a count of this expert too", earlier->second));
    add_count(read, {static_cast<int>(step), static_cast<int>(layer), static_cast<int>(rank)},
              expert, count, at);
  }
}

/// How many experts there are, where only those are there that were chosen. Names from which more
/// than half is missing are taken for a slip.
int named_experts(const ReadCounts& read, const std::string& name) {
  std::set<int> named;
  for (const auto& [place, counts] : read.counted) {
    for (const auto& [expert, count] : counts) named.insert(expert);
  }
  const int experts = *named.rbegin() + 1;
  if (2 * static_cast<int>(named.size()) >= experts) return experts;
  refuse_log(name, fmt::format("names {} up to {}: expected half of them or more, or --experts N",
                               counted(static_cast<int>(named.size()), "expert"), experts - 1));
}

/// As loads, of all experts and of the same ranks in every step of a layer.
RoutingCounts finished(ReadCounts read, const std::string& name) {
  RoutingCounts& found = read.found;
  if (read.counted.empty()) refuse_log(name, "has no counts");
  if (!read.experts) {
    read.experts = named_experts(read, name);
    found.remarks.push_back(fmt::format(
        "experts 0 to {} are named: --experts says if there are more", *read.experts - 1));
  }
  found.experts = *read.experts;
  std::map<int, std::set<int>> ranks_of_layer;
  std::map<std::pair<int, int>, std::pair<std::set<int>, std::int64_t>> of_step;
  for (const auto& [place, counts] : read.counted) {
    const auto [step, layer, rank] = place;
    ranks_of_layer[layer].insert(rank);
    auto& [ranks, total] = of_step[{step, layer}];
    ranks.insert(rank);
    for (int expert = 0; expert < found.experts; ++expert) {
      const auto count = counts.find(expert);
      Load& load = found.loads.emplace_back();
      load.iteration = step;
      load.layer = layer;
      load.rank = rank;
      load.expert = expert;
      load.tokens = count == counts.end() ? 0 : count->second;
      total += load.tokens;
      load.micro_batch = -1;
    }
  }
  for (const auto& [place, of] : of_step) {
    const auto [step, layer] = place;
    const auto& [ranks, total] = of;
    const std::string where = fmt::format("step {}, layer {}", step, layer);
    if (total == 0) refuse_log(name, where + ": all counts are 0: expected one above 0");
    const std::set<int>& all = ranks_of_layer[layer];
    const bool without_gap = *all.rbegin() - *all.begin() + 1 == static_cast<int>(all.size());
    if (ranks == all && without_gap) continue;
    refuse_log(name, fmt::format("{}: counts of ranks {}: expected all from {} to {}", where,
                                 fmt::join(ranks, ", "), *all.begin(), *all.rbegin()));
  }
  return std::move(found);
}

}  // namespace

RoutingCounts read_routing_counts(std::istream& file, const std::string& name,
                                  std::optional<int> experts) {
  ReadCounts read{.counted = {}, .experts = experts};
  LineOfLog at{name, 0};
  std::string line;
  std::size_t begin = std::string::npos;
  while (begin == std::string::npos && std::getline(file, line)) {
    ++at.number;
    begin = line.find_first_not_of(" \t\r");
  }
  if (begin == std::string::npos) refuse_log(name, "is empty");
  if (line[begin] == '[') {
    std::ostringstream all;
    all << line << '\n' << file.rdbuf();
    read_lists(all.str(), at, read);
  } else if (line[begin] == '{') {
    read_trace(line, file, at, read);
  } else {
    read_csv(line, file, at, read);
  }
  return finished(std::move(read), name);
}

}  // namespace db
