#include "tuner/planners/eplb/first_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tuner {
namespace {

/// The homes of experts. At most most[member] experts have their home on a member.
class Choice {
 public:
  Choice(const std::vector<std::vector<int>>& holders, std::vector<std::size_t> most)
      : holders_(holders), most_(std::move(most)), at_(most_.size()) {}

  bool has_room(int member) const { return at(member).size() < most_[member]; }
  void take(int member, int expert) { at_[member].push_back(expert); }
  const std::vector<int>& at(int member) const { return at_[member]; }

  /// Finds the expert a home among its holders. Experts at home there may move to other holders of
  /// theirs.
  bool augment(int expert) {
    std::vector<bool> tried(at_.size(), false);
    return augment(expert, tried);
  }

 private:
  bool augment(int expert, std::vector<bool>& tried) {
    for (const int member : holders_[expert]) {
      if (tried[member]) continue;
      tried[member] = true;
      if (has_room(member)) {
        take(member, expert);
        return true;
      }
      auto& there = at_[member];
      for (std::size_t i = 0; i < there.size(); ++i) {
        if (!augment(there[i], tried)) continue;
        there[i] = expert;
        return true;
      }
    }
    return false;
  }

  const std::vector<std::vector<int>>& holders_;
  std::vector<std::size_t> most_;     // [member]
  std::vector<std::vector<int>> at_;  // [member]
};

}  // namespace

moe::ExpertHomes first_copies(const std::vector<std::vector<int>>& holders,
                              const moe::ExpertHomes& now, int members) {
  if (holders.size() != now.size()) {
    throw std::invalid_argument(
        fmt::format("first_copies: {} experts, {} homes", holders.size(), now.size()));
  }
  std::vector<std::size_t> most(static_cast<std::size_t>(members), 0);
  for (const int home : now) {
    if (home < 0 || home >= members) {
      throw std::invalid_argument(
          fmt::format("first_copies: a home on member {} of {}", home, members));
    }
    ++most[home];
  }
  Choice choice(holders, std::move(most));
  std::vector<int> others, left_over;
  for (int expert = 0; expert < static_cast<int>(holders.size()); ++expert) {
    const auto& there = holders[expert];
    const int home = now[expert];
    if (std::find(there.begin(), there.end(), home) != there.end() && choice.has_room(home)) {
      choice.take(home, expert);
    } else {
      others.push_back(expert);
    }
  }
  for (const int expert : others) {
    if (!choice.augment(expert)) left_over.push_back(expert);
  }
  for (const int expert : left_over) {
    int member = 0;
    while (!choice.has_room(member)) ++member;
    choice.take(member, expert);
  }
  moe::ExpertHomes homes(holders.size());
  for (int member = 0; member < members; ++member) {
    for (const int expert : choice.at(member)) homes[expert] = member;
  }
  return homes;
}

}  // namespace tuner
