#pragma once

#include "moe/kernels/sent_rows.h"
#include "moe/kernels/weighted_row.h"

namespace moe {

/// Adds up the copies of a token: out[c] = sum of weight * from[row of copy][c], in the order of
/// the choices; zeros where no copy was kept.
template <class Stored>
struct CopiesOfTokens {
  using Real = Wide<Stored>;
  const Stored* from;
  SentRows rows;
  const Real* weights;  ///< by copy; nullptr: 1
  std::int64_t width;
  int choices;

  template <class Team>
  MOE_BODY void sum(Team& team, std::int64_t token, Stored* out) const {
    team.sum_rows(width, out, false, choices, from, width,
                  RowOfChoice{rows, weights, token * choices});
  }

 private:
  struct RowOfChoice {
    static constexpr int kAtOnce = 4;
    SentRows rows;
    const Real* weights;
    std::int64_t first;  ///< copy of the token

    MOE_BODY WeightedRow<Real> operator()(std::int64_t choice) const {
      const std::int64_t row = rows.row_of(first + choice);
      return {row, row < 0 || weights == nullptr ? Real(1) : weights[first + choice]};
    }
  };
};

}  // namespace moe
