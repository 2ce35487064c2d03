#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// log of the sum of e^row[v] over `count` values, by all of the team.
template <class Real, class Stored, class Team>
MOE_BODY Real log_sum_exp_of(Team& team, const Stored* row, std::int64_t count) {
  const Real largest = team.max(
      count, [](Stored logit) { return Real(logit); }, row);
  const Real sum = team.sum(
      count, [=](Stored logit) { return exponential(logit - largest); }, row);
  return largest + std::log(sum);
}

/// log_sum_exp[t] = log of the sum of e^logits[t]. A team per token.
template <class Stored>
struct LogSumExpBody {
  using Real = Wide<Stored>;
  const Stored* logits;
  Real* log_sum_exp;
  std::int64_t vocabulary;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real log_sum = log_sum_exp_of<Real>(team, logits + t * vocabulary, vocabulary);
    if (team.leader()) log_sum_exp[t] = log_sum;
  }
};

/// loss = sum over tokens of (log_sum_exp - logit of the target) / global_tokens. One team; the sum
/// is in double.
template <class Stored>
struct CrossEntropyBody {
  using Real = Wide<Stored>;
  const Stored* logits;
  const std::int32_t* targets;
  const Real* log_sum_exp;
  Real* loss;
  std::int64_t tokens, vocabulary, global_tokens;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t) const {
    const auto& self = *this;
    const double sum = team.sum(tokens, [&self](std::int64_t t) {
      return static_cast<double>(self.log_sum_exp[t]) -
             static_cast<double>(Real(self.logits[t * self.vocabulary + self.targets[t]]));
    });
    if (team.leader()) *loss = static_cast<Real>(sum / static_cast<double>(global_tokens));
  }
};

/// d_logits = (softmax(logits) - [v is the target]) / global_tokens. A team per token.
template <class Stored>
struct CrossEntropyGradientBody {
  using Real = Wide<Stored>;
  const Stored* logits;
  const std::int32_t* targets;
  const Real* log_sum_exp;
  Stored* d_logits;
  std::int64_t vocabulary, global_tokens, first_id;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Stored* row = logits + t * vocabulary;
    Stored* out = d_logits + t * vocabulary;
    const Real log_sum = log_sum_exp[t];
    const Real scale = Real(1) / static_cast<Real>(global_tokens);
    team.map(
        vocabulary, out, [=](Stored logit) { return exponential(logit - log_sum) * scale; }, row);
    team.sync();
    if (team.leader()) {
      const std::int64_t target = targets[t] - first_id;
      if (target < 0 || target >= vocabulary) return;
      out[target] = (exponential(row[target] - log_sum) - Real(1)) * scale;
    }
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const CrossEntropy& op, const BoundOp& bound) {
  const View& logits = bound.reads[0];
  auto* log_sum_exp = data_of<Wide<Stored>>(bound.writes[1]);
  exec.rows(logits.rows, logits.columns,
            LogSumExpBody<Stored>{data_of<Stored>(logits), log_sum_exp, logits.columns});
  exec.rows(1, logits.rows,
            CrossEntropyBody<Stored>{data_of<Stored>(logits), data_of<std::int32_t>(bound.reads[1]),
                                     log_sum_exp, data_of<Wide<Stored>>(bound.writes[0]),
                                     logits.rows, logits.columns, op.global_tokens});
}

template <class Stored, class Exec>
void launch(Exec& exec, const CrossEntropyGradient& op, const BoundOp& bound) {
  const View& logits = bound.reads[0];
  exec.rows(logits.rows, logits.columns,
            CrossEntropyGradientBody<Stored>{
                data_of<Stored>(logits), data_of<std::int32_t>(bound.reads[1]),
                data_of<Wide<Stored>>(bound.reads[2]), data_of<Stored>(bound.writes[0]),
                logits.columns, op.global_tokens, op.first_id});
}

/// statistics[t] = log of the sum of e^logits[t], and the logit of the target. A team per token.
template <class Stored>
struct VocabularyStatisticsBody {
  using Real = Wide<Stored>;
  const Stored* logits;
  const std::int32_t* targets;
  Real* statistics;
  std::int64_t vocabulary, first_id;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Stored* row = logits + t * vocabulary;
    const Real log_sum = log_sum_exp_of<Real>(team, row, vocabulary);
    if (!team.leader()) return;
    const std::int64_t target = targets[t] - first_id;
    statistics[2 * t] = log_sum;
    statistics[2 * t + 1] = target >= 0 && target < vocabulary ? Real(row[target]) : Real(0);
  }
};

/// log_sum_exp[t] over the shares of all ranks, in rank order.
template <class Real>
struct SharedLogSumExpBody {
  const Real* statistics;
  Real* log_sum_exp;
  std::int64_t tokens;
  int ranks;

  MOE_BODY void operator()(std::int64_t t) const {
    Real largest = statistics[2 * t];
    for (int rank = 1; rank < ranks; ++rank) {
      const Real other = statistics[2 * (rank * tokens + t)];
      largest = other > largest ? other : largest;
    }
    Real sum = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      sum += exponential(statistics[2 * (rank * tokens + t)] - largest);
    }
    log_sum_exp[t] = largest + std::log(sum);
  }
};

/// loss = sum over the own tokens of (log_sum_exp - logit of the target) / global_tokens. One team;
/// the sum is in double.
template <class Real>
struct SharedCrossEntropyBody {
  const Real* statistics;
  const Real* log_sum_exp;
  Real* loss;
  std::int64_t tokens, begin, count, global_tokens;
  int ranks;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t) const {
    const auto& self = *this;
    const double sum = team.sum(count, [&self](std::int64_t i) {
      const std::int64_t t = self.begin + i;
      double target = 0;  // one rank has it
      for (int rank = 0; rank < self.ranks; ++rank) {
        target += static_cast<double>(self.statistics[2 * (rank * self.tokens + t) + 1]);
      }
      return static_cast<double>(self.log_sum_exp[t]) - target;
    });
    if (team.leader()) *loss = static_cast<Real>(sum / static_cast<double>(global_tokens));
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const VocabularyStatistics& op, const BoundOp& bound) {
  const View& logits = bound.reads[0];
  exec.rows(logits.rows, logits.columns,
            VocabularyStatisticsBody<Stored>{
                data_of<Stored>(logits), data_of<std::int32_t>(bound.reads[1]),
                data_of<Wide<Stored>>(bound.writes[0]), logits.columns, op.first_id});
}

template <class Real, class Exec>
void launch(Exec& exec, const SharedCrossEntropy& op, const BoundOp& bound) {
  const Real* statistics = data_of<Real>(bound.reads[0]);
  const View& log_sum_exp = bound.writes[1];
  const std::int64_t tokens = log_sum_exp.rows, own = tokens / op.ranks;
  exec.elements(
      tokens, SharedLogSumExpBody<Real>{statistics, data_of<Real>(log_sum_exp), tokens, op.ranks});
  exec.rows(1, own,
            SharedCrossEntropyBody<Real>{statistics, data_of<Real>(log_sum_exp),
                                         data_of<Real>(bound.writes[0]), tokens, op.own * own, own,
                                         op.global_tokens, op.ranks});
}

}  // namespace moe
