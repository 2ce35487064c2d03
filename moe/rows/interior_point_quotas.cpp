#include "moe/rows/interior_point_quotas.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace moe {
namespace {

constexpr int kSteps = 5;
constexpr double kStepLength = 0.999;
constexpr double kCostOfArtificial = 1000;
constexpr double kMostDirection = 0.1, kMostArtificial = 1e-4, kMostResidual = 0.05;
constexpr double kConverged = 1e-9;

/// Members that replicated experts join, and the linear program of their rows.
class InteriorPoint {
 public:
  struct Copy {
    int member = 0;  ///< of the group
    double share = 1;
  };
  struct Expert {
    int expert = 0;
    double rows = 0;
    std::vector<Copy> copies;
  };

  /// `fixed`: [member] rows of experts of one copy.
  InteriorPoint(std::vector<double> fixed, std::vector<Expert> experts)
      : fixed_(std::move(fixed)), experts_(std::move(experts)) {}

  /// The shares that five steps come to, or equal ones.
  const std::vector<Expert>& solved() {
    begin();
    double direction = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kSteps && direction >= kConverged; ++i) direction = step();
    if (!(direction < kMostDirection && artificial_ < kMostArtificial &&
          residual() < kMostResidual)) {
      for (Expert& expert : experts_) {
        for (Copy& copy : expert.copies)
          copy.share = 1.0 / static_cast<double>(expert.copies.size());
      }
    }
    return experts_;
  }

 private:
  /// A number for every constraint.
  struct Constraints {
    std::vector<double> members, experts;
  };

  std::size_t size() const { return fixed_.size(); }
  double& at(int row, int column) {
    return matrix_[static_cast<std::size_t>(row) * size() + column];
  }

  /// All variables are one. The column of the artificial one is what is then missing.
  void begin() {
    slack_.assign(size(), 1);
    most_ = artificial_ = 1;
    missing_ = unmet();
    missing_.experts.resize(experts_.size());
  }

  /// What the constraints lack without the artificial variable.
  Constraints unmet() const {
    Constraints lack;
    for (std::size_t member = 0; member < size(); ++member) {
      lack.members.push_back(most_ - slack_[member] - fixed_[member]);
    }
    for (const Expert& expert : experts_) {
      double& of_expert = lack.experts.emplace_back(1);
      for (const Copy& copy : expert.copies) {
        lack.members[copy.member] -= expert.rows * copy.share;
        of_expert -= copy.share;
      }
    }
    return lack;
  }

  double residual() const {
    const Constraints lack = unmet();
    double most = 0;
    for (const auto* some : {&lack.members, &lack.experts}) {
      for (const double one : *some) most = std::max(most, std::abs(one));
    }
    return most;
  }

  /// Factors A X^2 A^T without the artificial variable, as U^T U after the experts' constraints,
  /// which meet only members', are eliminated. False where rounding leaves it singular.
  bool factor() {
    const auto members = static_cast<int>(size());
    matrix_.assign(size() * size(), most_ * most_);
    for (int member = 0; member < members; ++member) {
      at(member, member) += slack_[member] * slack_[member];
    }
    squares_.clear();
    for (const Expert& expert : experts_) {
      double& squares = squares_.emplace_back(0);
      for (const Copy& copy : expert.copies) squares += copy.share * copy.share;
      for (std::size_t i = 0; i < expert.copies.size(); ++i) {
        for (std::size_t j = i + 1; j < expert.copies.size(); ++j) {
          const Copy &one = expert.copies[i], &other = expert.copies[j];
          const double joint = expert.rows * one.share * other.share;
          const double between = joint * joint / squares;
          at(one.member, one.member) += between;
          at(other.member, other.member) += between;
          at(std::min(one.member, other.member), std::max(one.member, other.member)) -= between;
        }
      }
    }
    for (int k = 0; k < members; ++k) {
      if (!(at(k, k) > 0)) return false;
      const double scale = 1 / std::sqrt(at(k, k));
      for (int j = k; j < members; ++j) at(k, j) *= scale;
      for (int i = k + 1; i < members; ++i) {
        const double ratio = at(k, i);
        if (ratio == 0) continue;
        for (int j = i; j < members; ++j) at(i, j) -= ratio * at(k, j);
      }
    }
    return true;
  }

  /// The solution of the factored equations.
  Constraints solution(Constraints of) {
    const auto members = static_cast<int>(size());
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      for (const Copy& copy : experts_[e].copies) {
        of.members[copy.member] -=
            experts_[e].rows * copy.share * copy.share * of.experts[e] / squares_[e];
      }
    }
    std::vector<double>& y = of.members;
    for (int k = 0; k < members; ++k) {
      y[k] /= at(k, k);
      for (int j = k + 1; j < members; ++j) y[j] -= at(k, j) * y[k];
    }
    for (int k = members; k-- > 0;) {
      for (int j = k + 1; j < members; ++j) y[k] -= at(k, j) * y[j];
      y[k] /= at(k, k);
    }
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      for (const Copy& copy : experts_[e].copies) {
        of.experts[e] -= experts_[e].rows * copy.share * copy.share * y[copy.member];
      }
      of.experts[e] /= squares_[e];
    }
    return of;
  }

  double missing_times(const Constraints& y) const {
    return std::inner_product(missing_.members.begin(), missing_.members.end(), y.members.begin(),
                              0.0) +
           std::inner_product(missing_.experts.begin(), missing_.experts.end(), y.experts.begin(),
                              0.0);
  }

  /// Takes a step; returns its max d.
  double step() {
    if (!factor()) return std::numeric_limits<double>::infinity();
    Constraints y = solution(
        {std::vector<double>(size(), -most_ * most_), std::vector<double>(experts_.size())});
    const Constraints column = solution(missing_);
    // The artificial variable's column is a rank-one term (Sherman and Morrison).
    const double square = artificial_ * artificial_;
    const double cost =
        (kCostOfArtificial - missing_times(y)) / (1 + square * missing_times(column));
    for (std::size_t i = 0; i < size(); ++i) y.members[i] += square * cost * column.members[i];
    for (std::size_t e = 0; e < experts_.size(); ++e)
      y.experts[e] += square * cost * column.experts[e];

    const double of_most = 1 + std::accumulate(y.members.begin(), y.members.end(), 0.0);
    const auto of_share = [&](std::size_t e, const Copy& copy) {
      return -experts_[e].rows * y.members[copy.member] - y.experts[e];
    };
    double most = std::max(most_ * of_most, artificial_ * cost);
    for (std::size_t i = 0; i < size(); ++i) most = std::max(most, -slack_[i] * y.members[i]);
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      for (const Copy& copy : experts_[e].copies) {
        most = std::max(most, copy.share * of_share(e, copy));
      }
    }
    if (most < kConverged) return most;
    const double length = kStepLength / most;
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      for (Copy& copy : experts_[e].copies) {
        copy.share *= 1 - length * copy.share * of_share(e, copy);
      }
    }
    for (std::size_t i = 0; i < size(); ++i) slack_[i] *= 1 + length * slack_[i] * y.members[i];
    most_ *= 1 - length * most_ * of_most;
    artificial_ *= 1 - length * artificial_ * cost;
    return most;
  }

  std::vector<double> fixed_;  ///< f
  std::vector<Expert> experts_;
  std::vector<double> slack_;             ///< [member]
  double most_ = 1, artificial_ = 1;      ///< t, and the variable that is to vanish
  Constraints missing_;                   ///< the artificial variable's column
  std::vector<double> matrix_, squares_;  ///< the factor; [expert]: the sum of x^2
};

/// [member]: the first member of its group.
std::vector<int> groups_of(const std::vector<std::vector<int>>& copies, std::size_t members) {
  std::vector<int> first(members);
  std::iota(first.begin(), first.end(), 0);
  const auto of = [&](int member) {
    while (first[member] != member) member = first[member] = first[first[member]];
    return member;
  };
  for (const std::vector<int>& of_expert : copies) {
    for (const int member : of_expert) {
      const int one = of(of_expert.front()), other = of(member);
      first[std::max(one, other)] = std::min(one, other);
    }
  }
  for (int member = 0; member < static_cast<int>(members); ++member) first[member] = of(member);
  return first;
}

/// Whole rows by shares, of which each copy ends where its share of all ends.
std::vector<std::int64_t> rows_by_shares(const InteriorPoint::Expert& expert, std::int64_t rows) {
  double all = 0;
  for (const auto& copy : expert.copies) all += copy.share;
  std::vector<std::int64_t> quotas;
  double sum = 0;
  std::int64_t before = 0;
  for (const auto& copy : expert.copies) {
    sum += copy.share;
    const std::int64_t end = std::llround(static_cast<double>(rows) * (sum / all));
    quotas.push_back(end - before);
    before = end;
  }
  return quotas;
}

}  // namespace

RowQuotas interior_point_quotas(const ExpertSlots& slots, std::span<const std::int64_t> rows) {
  const std::size_t members = slots.replicas_of.size();
  std::vector<std::vector<int>> copies;  // [expert]
  std::vector<double> fixed(members), at_home(members);
  RowQuotas quotas;
  for (std::size_t expert = 0; expert < rows.size(); ++expert) {
    const int home = home_of(slots, static_cast<int>(expert));
    const auto all = static_cast<double>(rows[expert]);
    copies.push_back(copies_of(slots, static_cast<int>(expert)));
    quotas.emplace_back(copies.back().size());
    at_home[home] += all;
    if (copies.back().size() > 1) continue;
    fixed[home] += all;
    quotas.back().front() = rows[expert];
  }
  const std::vector<int> group_of = groups_of(copies, members);
  for (int group = 0; group < static_cast<int>(members); ++group) {
    if (group_of[group] != group) continue;
    std::vector<int> place(members);  // among those of the group
    std::vector<double> fixed_there;
    double largest = 0;
    for (std::size_t member = 0; member < members; ++member) {
      if (group_of[member] != group) continue;
      place[member] = static_cast<int>(fixed_there.size());
      fixed_there.push_back(fixed[member]);
      largest = std::max(largest, at_home[member]);
    }
    std::vector<InteriorPoint::Expert> experts;
    for (std::size_t expert = 0; expert < rows.size(); ++expert) {
      if (copies[expert].size() < 2 || group_of[copies[expert].front()] != group) continue;
      if (rows[expert] == 0) continue;
      auto& one = experts.emplace_back();
      one.expert = static_cast<int>(expert);
      one.rows = static_cast<double>(rows[expert]) / largest;
      for (const int member : copies[expert]) one.copies.push_back({place[member]});
    }
    if (experts.empty()) continue;
    for (double& one : fixed_there) one /= largest;
    InteriorPoint program(std::move(fixed_there), std::move(experts));
    for (const InteriorPoint::Expert& one : program.solved()) {
      quotas[one.expert] = rows_by_shares(one, rows[one.expert]);
    }
  }
  return quotas;
}

}  // namespace moe
