#include "moe/communicator/same_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "moe/communicator/node_name.h"
#include "moe/communicator/ranks.h"

namespace moe {
namespace {

constexpr const char* kNone = "none";
/// What is wrong is seen from the first differences; all of two models would fill a page.
constexpr std::size_t kMostDifferences = 3;

std::string facts_to_json(const std::vector<InputFact>& facts) {
  nlohmann::json all = nlohmann::json::array();
  for (const InputFact& fact : facts) {
    if (!fact.expected) all.push_back({fact.key, fact.value});
  }
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::pair<std::string, std::string>> facts_from_json(const std::string& text) {
  return nlohmann::json::parse(text).get<std::vector<std::pair<std::string, std::string>>>();
}

/// What this rank has otherwise than the reader, or than rank 0.
std::vector<std::string> differences(
    const std::vector<InputFact>& mine, const std::string& reader,
    const std::vector<std::pair<std::string, std::string>>& of_rank_0, const std::string& rank_0,
    const std::string& self) {
  std::vector<std::string> found;
  const auto compare = [&](const std::string& key, const std::string& expected,
                           const std::string& who, const std::string& value,
                           const std::string& remark = "") {
    if (expected == value) return;
    found.push_back(fmt::format("{} is {} on {} and {} on {}{}{}", key, expected, who, value, self,
                                remark.empty() ? "" : ": ", remark));
  };
  for (const InputFact& fact : mine) {
    if (fact.expected) {
      compare(fact.key, *fact.expected, reader, fact.value);
      continue;
    }
    const auto same =
        std::ranges::find(of_rank_0, fact.key, [](const auto& one) { return one.first; });
    compare(fact.key, same == of_rank_0.end() ? kNone : same->second, rank_0, fact.value,
            fact.remark);
  }
  for (const auto& [key, value] : of_rank_0) {
    if (std::ranges::find(mine, key, &InputFact::key) == mine.end()) {
      compare(key, value, rank_0, kNone);
    }
  }
  return found;
}

}  // namespace

std::string rank_and_node(int rank) { return fmt::format("rank {} ({})", rank, node_name()); }

void expect_same_inputs(Communicator& world, const std::vector<InputFact>& mine,
                        const std::string& reader, double time_limit_s) {
  const CallContext call{.time_limit_s = time_limit_s, .what = "comparison of the inputs"};
  const auto of_rank_0 = facts_from_json(broadcast_text(world, facts_to_json(mine), call));
  const std::string rank_0 = broadcast_text(world, rank_and_node(0), call);
  std::vector<std::string> found =
      differences(mine, reader, of_rank_0, rank_0, rank_and_node(world.rank));
  const std::size_t more = found.size() - std::min(found.size(), kMostDifferences);
  if (more > 0) {
    found.resize(kMostDifferences);
    found.push_back(fmt::format("and {} more", more));
  }
  for (const std::string& said :
       gather_texts(world, fmt::format("{}", fmt::join(found, "; ")), call)) {
    if (!said.empty()) throw Disagreement("the ranks do not agree: " + said);
  }
}

}  // namespace moe
