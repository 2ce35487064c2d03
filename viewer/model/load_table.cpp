#include "viewer/model/load_table.h"

#include <algorithm>

namespace viewer {

namespace {

constexpr int kMostExperts = 1 << 20;  // of a model file too

bool is_sound(const db::Load& row) { return row.expert >= 0 && row.expert < kMostExperts; }

std::vector<int> sorted_unique(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::size_t position(const std::vector<int>& sorted, int value) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), value) -
                                  sorted.begin());
}

}  // namespace

std::int64_t LoadTable::at(std::size_t iteration, std::size_t layer, std::size_t expert) const {
  return tokens[(iteration * layers.size() + layer) * static_cast<std::size_t>(experts) + expert];
}

std::int64_t LoadTable::quantile(double share) const {
  if (tokens.empty()) return 0;
  std::vector<std::int64_t> sorted = tokens;
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), sorted.begin() + rank, sorted.end());
  return sorted[rank];
}

double mean_tokens(const LoadTable& table, std::size_t iteration, std::size_t layer) {
  std::int64_t sum = 0;
  for (int e = 0; e < table.experts; ++e) {
    sum += table.at(iteration, layer, static_cast<std::size_t>(e));
  }
  return table.experts > 0 ? static_cast<double>(sum) / table.experts : 0;
}

LoadTable build_load_table(const std::vector<db::Load>& rows, LoadBasis basis) {
  LoadTable table;
  const bool asked = basis == LoadBasis::asked;
  const auto tells = [](const db::Load& row) { return row.asked_tokens.has_value(); };
  if (asked && !std::all_of(rows.begin(), rows.end(), tells)) return table;
  for (const db::Load& row : rows) {
    if (!is_sound(row)) continue;
    table.iterations.push_back(row.iteration);
    table.layers.push_back(row.layer);
    table.experts = std::max(table.experts, row.expert + 1);
  }
  table.iterations = sorted_unique(std::move(table.iterations));
  table.layers = sorted_unique(std::move(table.layers));
  const auto experts = static_cast<std::size_t>(table.experts);
  table.tokens.resize(table.iterations.size() * table.layers.size() * experts);
  for (const db::Load& row : rows) {
    if (!is_sound(row)) continue;
    const std::size_t line = position(table.iterations, row.iteration) * table.layers.size() +
                             position(table.layers, row.layer);
    table.tokens[line * experts + static_cast<std::size_t>(row.expert)] +=
        asked ? *row.asked_tokens : row.tokens;
  }
  return table;
}

}  // namespace viewer
