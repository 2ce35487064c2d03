#pragma once

#include "moe/kernels/column_sums.h"
#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/rms_norm.h"
#include "moe/kernels/view.h"

namespace moe {

/// The columns that a team works on: a group of a token's queries or keys, or all of its values,
/// which have no scale.
template <class Scale>
struct NormedColumns {
  std::int64_t first, width;  ///< elements of qkv
  std::int64_t statistic;     ///< which of them
  const Scale* scale;         ///< null: values
};

/// How groups are numbered: those of queries, those of keys, then the values, for each token.
template <class Scale>
struct QueryKeyRows {
  QueryKeyGroups groups;
  std::int64_t columns;  ///< of qkv
  const Scale* query_scale;
  const Scale* key_scale;

  MOE_BODY std::int64_t teams_per_token() const {
    return std::int64_t{groups.query_groups} + groups.key_groups + 1;
  }
  MOE_BODY NormedColumns<Scale> of(std::int64_t team) const {
    const std::int64_t token = team / teams_per_token(), group = team % teams_per_token();
    const std::int64_t first = token * columns, normed = teams_per_token() - 1;
    const std::int64_t query_width = groups.query_columns / groups.query_groups,
                       key_width = groups.key_columns / groups.key_groups;
    const std::int64_t statistic = token * normed + group;
    if (group < groups.query_groups) {
      return {first + group * query_width, query_width, statistic, query_scale};
    }
    const std::int64_t keys = first + groups.query_columns;
    if (group < normed) {
      return {keys + (group - groups.query_groups) * key_width, key_width, statistic, key_scale};
    }
    return {keys + groups.key_columns, columns - groups.query_columns - groups.key_columns, 0,
            nullptr};
  }
};

/// A team per group of a token.
template <class Stored>
struct QueryKeyNormBody {
  using Real = Wide<Stored>;
  QueryKeyRows<Stored> rows;
  const Stored* x;
  Stored* y;
  Real* statistics;
  double epsilon;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const NormedColumns<Stored> part = rows.of(row);
    const Stored* in = x + part.first;
    Stored* out = y + part.first;
    if (part.scale == nullptr) {
      team.map(
          part.width, out, [](Stored value) { return value; }, in);
      return;
    }
    const Real inverse =
        rms_norm_row(team, part.width, team.hold(part.width, in), part.scale, out, epsilon);
    if (team.leader()) statistics[part.statistic] = inverse;
  }
};

/// A team per group of a token.
template <class Stored>
struct QueryKeyNormInputGradientBody {
  using Real = Wide<Stored>;
  QueryKeyRows<Stored> rows;
  const Stored* dy;
  const Stored* x;
  const Real* statistics;
  Stored* dx;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const NormedColumns<Stored> part = rows.of(row);
    const Stored* gradient = dy + part.first;
    Stored* out = dx + part.first;
    if (part.scale == nullptr) {
      team.map(
          part.width, out, [](Stored value) { return value; }, gradient);
      return;
    }
    rms_norm_row_gradient(team, part.width, gradient, x + part.first, part.scale,
                          statistics[part.statistic], out);
  }
};

/// d_scale = sum over tokens and groups of dy n. Row r is group r mod groups of token r / groups.
template <class Stored>
struct QueryKeyNormWeightGradientTerms {
  using Real = Wide<Stored>;
  const Stored* dy;  ///< of the first group of the first token
  const Stored* x;
  const Real* statistics;
  std::int64_t columns, groups, width;  ///< of qkv; of queries or keys; of a group
  std::int64_t normed;                  ///< statistics of a token

  MOE_BODY Sums<Real, 1> operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t token = row / groups, group = row % groups;
    const std::int64_t at = token * columns + group * width + column;
    return {dy[at] * (x[at] * statistics[token * normed + group])};
  }
};

inline void check(const QueryKeyGroups& groups, std::int64_t columns) {
  if (groups.query_groups > 0 && groups.key_groups > 0 &&
      groups.query_columns % groups.query_groups == 0 &&
      groups.key_columns % groups.key_groups == 0 &&
      columns > groups.query_columns + groups.key_columns) {
    return;
  }
  throw std::logic_error("query_key_norm: " + std::to_string(columns) + " columns, of them " +
                         std::to_string(groups.query_columns) + " of queries in " +
                         std::to_string(groups.query_groups) + " groups and " +
                         std::to_string(groups.key_columns) + " of keys in " +
                         std::to_string(groups.key_groups));
}

template <class Stored, class Exec>
void launch(Exec& exec, const QueryKeyNorm& op, const BoundOp& bound) {
  const View& qkv = bound.reads[0];
  check(op.groups, qkv.columns);
  const QueryKeyRows<Stored> rows{op.groups, qkv.columns, data_of<Stored>(bound.reads[1]),
                                  data_of<Stored>(bound.reads[2])};
  exec.rows(qkv.rows * rows.teams_per_token(), op.groups.query_columns / op.groups.query_groups,
            QueryKeyNormBody<Stored>{rows, data_of<Stored>(qkv), data_of<Stored>(bound.writes[0]),
                                     data_of<Wide<Stored>>(bound.writes[1]), op.epsilon});
}

template <class Stored, class Exec>
void launch(Exec& exec, const QueryKeyNormInputGradient& op, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  check(op.groups, dy.columns);
  const QueryKeyRows<Stored> rows{op.groups, dy.columns, data_of<Stored>(bound.reads[2]),
                                  data_of<Stored>(bound.reads[3])};
  exec.rows(dy.rows * rows.teams_per_token(), op.groups.query_columns / op.groups.query_groups,
            QueryKeyNormInputGradientBody<Stored>{
                rows, data_of<Stored>(dy), data_of<Stored>(bound.reads[1]),
                data_of<Wide<Stored>>(bound.reads[4]), data_of<Stored>(bound.writes[0])});
}

template <class Stored, class Exec>
void launch(Exec& exec, const QueryKeyNormWeightGradient& op, const BoundOp& bound) {
  const View& dy = bound.reads[0];
  const QueryKeyGroups& g = op.groups;
  check(g, dy.columns);
  const Stored* x = data_of<Stored>(bound.reads[1]);
  const auto* statistics = data_of<Wide<Stored>>(bound.reads[2]);
  const std::int64_t normed = std::int64_t{g.query_groups} + g.key_groups;
  const auto add_up = [&](std::size_t which, std::int64_t first, std::int64_t columns,
                          std::int64_t groups, std::int64_t first_statistic) {
    exec.column_sums(
        dy.rows * groups, columns / groups,
        QueryKeyNormWeightGradientTerms<Stored>{data_of<Stored>(dy) + first, x + first,
                                                statistics + first_statistic, dy.columns, groups,
                                                columns / groups, normed},
        SumTargets<Wide<Stored>, 1>{{data_of<Wide<Stored>>(bound.writes[which])}, op.accumulate});
  };
  add_up(0, 0, g.query_columns, g.query_groups, 0);
  add_up(1, g.query_columns, g.key_columns, g.key_groups, g.query_groups);
}

}  // namespace moe
