#include "tuner/scenario/sweep.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "moe/errors.h"
#include "moe/input/setting.h"

namespace tuner {
namespace {

constexpr std::size_t kMostCombinations = 1'000'000;

std::vector<std::string> values_of(const moe::Setting& setting) {
  std::vector<std::string> values;
  std::string_view rest = setting.value;
  while (true) {
    const std::size_t comma = rest.find(',');
    values.emplace_back(rest.substr(0, comma));
    if (values.back().empty()) {
      throw moe::InputError(
          fmt::format("--set {}={}: a value is missing: expected values with commas between them",
                      moe::key_of(setting), db::shortened(setting.value, 200)));
    }
    if (comma == std::string_view::npos) return values;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<SweptKey> parse_sweep(const std::vector<std::string>& texts) {
  std::vector<SweptKey> keys;
  for (const moe::Setting& setting : moe::parse_settings(texts)) {
    keys.push_back({moe::key_of(setting), values_of(setting)});
  }
  return keys;
}

std::vector<std::vector<std::string>> combinations(const std::vector<SweptKey>& keys) {
  std::vector<std::vector<std::string>> all{{}};
  for (const SweptKey& key : keys) {
    if (all.size() > kMostCombinations / key.values.size()) {
      throw moe::InputError(
          fmt::format("--set {}: more than {} combinations of values", key.key, kMostCombinations));
    }
    std::vector<std::vector<std::string>> longer;
    longer.reserve(all.size() * key.values.size());
    for (const std::vector<std::string>& before : all) {
      for (const std::string& value : key.values) {
        longer.push_back(before);
        longer.back().push_back(key.key + "=" + value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace tuner
