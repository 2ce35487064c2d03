#include "tuner/scenario/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "moe/errors.h"
#include "moe/input/setting.h"

namespace tuner {
namespace {

constexpr std::size_t kMostCombinations = 1'000'000;

/// The place of the first comma between values: none within quotes or brackets, which TOML reads as
/// one value.
std::size_t end_of_value(std::string_view text) {
  char quote = 0;
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++open;
    } else if (c == ']' || c == '}') {
      --open;
    } else if (c == ',' && open <= 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::vector<std::string> values_of(const moe::Setting& setting) {
  std::vector<std::string> values;
  std::string_view rest = setting.value;
  while (true) {
    const std::size_t comma = end_of_value(rest);
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

std::vector<std::string> swept_settings(const std::vector<SweptKey>& keys,
                                        const std::vector<std::string>& combination) {
  std::vector<std::string> swept;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].values.size() > 1) swept.push_back(combination[i]);
  }
  return swept;
}

bool is_set(const std::vector<std::string>& settings, std::string_view key) {
  return std::ranges::any_of(settings, [&](const std::string& setting) {
    return moe::key_of(moe::parse_setting(setting)) == key;
  });
}

}  // namespace tuner
