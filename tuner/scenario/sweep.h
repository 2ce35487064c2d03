#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tuner {

/// A key of a model or a cluster file and the values that it takes in turn.
struct SweptKey {
  std::string key;                  ///< "moe.experts"
  std::vector<std::string> values;  ///< as they were typed; at least one
};

/// Reads texts such as "moe.experts=8,16,32". A comma within quotes or brackets is part of a value.
/// Throws moe::InputError as moe::parse_settings does, and where a value is missing.
std::vector<SweptKey> parse_sweep(const std::vector<std::string>& texts);

/// Every combination of the values, as settings of moe::load_model. The values of the last key
/// follow each other. Without a key there is one combination, which sets nothing. Throws
/// moe::InputError where there are more than a million.
std::vector<std::vector<std::string>> combinations(const std::vector<SweptKey>& keys);

/// Of one combination, the settings of keys that take several values.
std::vector<std::string> swept_settings(const std::vector<SweptKey>& keys,
                                        const std::vector<std::string>& combination);

/// Whether one of the settings ("KEY=VALUE") is of the key. Throws as moe::parse_setting.
bool is_set(const std::vector<std::string>& settings, std::string_view key);

}  // namespace tuner
