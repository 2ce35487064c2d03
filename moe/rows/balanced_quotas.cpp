#include "moe/rows/balanced_quotas.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace moe {
namespace {

/// Rows of experts at members, moved along copies until no member has more than a threshold.
class Balancing {
 public:
  Balancing(const ExpertSlots& slots, std::span<const std::int64_t> rows)
      : rows_(rows), load_(slots.replicas_of.size()), at_(load_.size()) {
    for (int expert = 0; expert < static_cast<int>(rows.size()); ++expert) {
      copies_.push_back(copies_of(slots, expert));
      home_.push_back(static_cast<std::size_t>(copy_at(slots, expert, home_of(slots, expert))));
      if (copies_.back().size() < 2) continue;
      for (std::size_t copy = 0; copy < copies_.back().size(); ++copy) {
        at_[copies_.back()[copy]].push_back({expert, copy});
      }
    }
    all_home();
  }

  const RowQuotas& balanced() {
    const std::int64_t total = std::accumulate(load_.begin(), load_.end(), std::int64_t{0});
    const auto members = static_cast<std::int64_t>(load_.size());
    std::int64_t most = (total + members - 1) / members;
    while (!lower_to(most)) most = least_of_stuck();
    all_home();
    lower_to(most);
    return quotas_;
  }

 private:
  struct Copy {
    int expert = 0;
    std::size_t copy = 0;
  };
  struct Step {
    int from = -1;
    Copy copy{};  ///< whose rows go
    std::size_t to_copy = 0;
  };

  void all_home() {
    std::ranges::fill(load_, 0);
    quotas_.clear();
    for (std::size_t expert = 0; expert < rows_.size(); ++expert) {
      quotas_.emplace_back(copies_[expert].size())[home_[expert]] = rows_[expert];
      load_[copies_[expert][home_[expert]]] += rows_[expert];
    }
  }

  /// Whether every member has come down to `most` rows. Where one has not, reached_ are the members
  /// whose rows cannot leave them.
  bool lower_to(std::int64_t most) {
    for (int member = 0; member < static_cast<int>(load_.size()); ++member) {
      while (load_[member] > most) {
        const int to = find(member, most);
        if (to < 0) return false;
        move(member, to, most);
      }
    }
    return true;
  }

  /// The nearest member with room to which rows can go from `member`, by way of others.
  int find(int member, std::int64_t most) {
    steps_.assign(load_.size(), {});
    reached_.assign(1, member);
    for (std::size_t next = 0; next < reached_.size(); ++next) {
      const int from = reached_[next];
      for (const Copy& copy : at_[from]) {
        if (quotas_[copy.expert][copy.copy] == 0) continue;
        const std::vector<int>& copies = copies_[copy.expert];
        for (std::size_t to = 0; to < copies.size(); ++to) {
          const int other = copies[to];
          if (other == member || steps_[other].from >= 0) continue;
          steps_[other] = {from, copy, to};
          reached_.push_back(other);
          if (load_[other] < most) return other;
        }
      }
    }
    return -1;
  }

  void move(int member, int to, std::int64_t most) {
    std::int64_t rows = std::min(load_[member] - most, most - load_[to]);
    for (int at = to; at != member; at = steps_[at].from) {
      rows = std::min(rows, quotas_[steps_[at].copy.expert][steps_[at].copy.copy]);
    }
    for (int at = to; at != member; at = steps_[at].from) {
      const Step& step = steps_[at];
      quotas_[step.copy.expert][step.copy.copy] -= rows;
      quotas_[step.copy.expert][step.to_copy] += rows;
    }
    load_[member] -= rows;
    load_[to] += rows;
  }

  /// No row can leave the members that were reached, so one of them has their mean at least.
  std::int64_t least_of_stuck() const {
    std::int64_t rows = 0;
    for (const int member : reached_) rows += load_[member];
    const auto members = static_cast<std::int64_t>(reached_.size());
    return (rows + members - 1) / members;
  }

  std::span<const std::int64_t> rows_;
  std::vector<std::int64_t> load_;        ///< [member]
  std::vector<std::vector<Copy>> at_;     ///< [member]: its copies of experts that have several
  std::vector<std::vector<int>> copies_;  ///< [expert]: members
  std::vector<std::size_t> home_;         ///< [expert]: which of its copies is the home
  RowQuotas quotas_;
  std::vector<Step> steps_;  ///< [member]: how it was reached
  std::vector<int> reached_;
};

}  // namespace

RowQuotas balanced_quotas(const ExpertSlots& slots, std::span<const std::int64_t> rows) {
  return Balancing(slots, rows).balanced();
}

}  // namespace moe
