#include "tuner/costs/interference.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tuner {
namespace {

constexpr std::string_view kBeside = "_beside_";
constexpr std::array<std::string_view, kOccupations> kNames = {"computation", "inter_node",
                                                               "intra_node", "copy"};

std::size_t place_of(Occupation occupation) { return static_cast<std::size_t>(occupation); }

/// The occupations of this name, "communication" being both links; none for another.
std::vector<std::size_t> occupations_named(std::string_view name) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < kOccupations; ++i) {
    if (name == kNames[i] || (name == "communication" && is_link(Occupation(i)))) {
      found.push_back(i);
    }
  }
  return found;
}

}  // namespace

std::string_view name_of(Occupation occupation) { return kNames[place_of(occupation)]; }

Interference::Interference() {
  for (auto& row : speed) row.fill(1);
}

double& speed_of(Interference& interference, Occupation y, Occupation x) {
  return interference.speed[place_of(y)][place_of(x)];
}
double speed_of(const Interference& interference, Occupation y, Occupation x) {
  return interference.speed[place_of(y)][place_of(x)];
}

double speed_beside(const Interference& interference, Occupation y, const Company& company) {
  const std::size_t own = place_of(y);
  double others = 1;
  int count = 0;
  for (std::size_t x = 0; x < kOccupations; ++x) {
    if (!company[x] || x == own) continue;
    ++count;
    others *= interference.speed[own][x];
  }
  if (count > 1 && interference.beside_all[own]) others = *interference.beside_all[own];
  return company[own] ? others * interference.speed[own][own] : others;
}

bool set_speed(Interference& interference, std::string_view key, double speed) {
  const auto middle = key.find(kBeside);
  if (middle == std::string_view::npos) return false;
  const auto ys = occupations_named(key.substr(0, middle));
  const std::string_view beside = key.substr(middle + kBeside.size());
  const auto xs = occupations_named(beside);
  if (ys.empty() || (xs.empty() && beside != "all")) return false;
  speed = std::min(speed, 1.0);
  for (const std::size_t y : ys) {
    if (beside == "all") interference.beside_all[y] = speed;
    for (const std::size_t x : xs) interference.speed[y][x] = speed;
  }
  return true;
}

void read_speeds(const moe::InputObject& table, double least, double most,
                 std::string_view expected, Interference& interference) {
  std::vector<std::string_view> ys(kNames.begin(), kNames.end());
  ys.insert(ys.begin(), "communication");  // before its links, which so go first
  std::vector<std::string_view> xs = ys;
  xs.push_back("all");
  for (const std::string_view y : ys) {
    for (const std::string_view x : xs) {
      const std::string key = std::string(y) + std::string(kBeside) + std::string(x);
      if (!table.has(key)) continue;
      set_speed(interference, key, table.number(key, least, most, expected));
    }
  }
}

nlohmann::json speeds_json(const Interference& interference) {
  nlohmann::json json = nlohmann::json::object();
  for (std::size_t y = 0; y < kOccupations; ++y) {
    const auto key = [&](std::string_view x) {
      return std::string(kNames[y]) + std::string(kBeside) + std::string(x);
    };
    for (std::size_t x = 0; x < kOccupations; ++x) {
      if (interference.speed[y][x] != 1) json[key(kNames[x])] = interference.speed[y][x];
    }
    if (interference.beside_all[y]) json[key("all")] = *interference.beside_all[y];
  }
  return json;
}

}  // namespace tuner
