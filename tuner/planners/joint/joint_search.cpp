#include "tuner/planners/joint/joint_search.h"

#include <set>
#include <string>
#include <utility>

namespace tuner {
namespace {

/// The sets of aspects that are taken over together: single ones, and those that mean little
/// without each other.
const std::vector<Aspects>& taken_together() {
  using enum Aspect;
  static const std::vector<Aspects> all{
      {placement},
      {routes},
      {cuts},
      {memory},
      {streams},
      {gradients},
      {weight_gradients},
      {micro_batches},
      {cuts, streams},
      {cuts, streams, weight_gradients},
      {streams, gradients},
      {placement, streams},
      {placement, cuts, streams},
      {cuts, memory, streams},
      {cuts, memory, streams, weight_gradients},
      {gradients, weight_gradients},
  };
  return all;
}

class Search {
 public:
  explicit Search(const JointProblem& problem) : problem_(problem) {}

  /// Also empty for a schedule that was judged before. If it did not beat an earlier best schedule,
  /// it does not beat a later one.
  std::optional<Judgement> judge(const moe::Schedule& schedule, const Judgement& to_beat) {
    const bool is_new = tried_.insert(moe::decisions_json(schedule)).second;
    return is_new ? problem_.judge(schedule, to_beat) : std::nullopt;
  }
  int tried() const { return static_cast<int>(tried_.size()); }

  bool improve(JointResult& best, moe::Schedule schedule) {
    if (tried() >= most()) return false;
    const Judgement to_beat{best.judged.seconds, best.seed_judged.worst_s, best.judged.typical_s};
    const auto found = judge(schedule, to_beat);
    if (!found || !beats(*found, to_beat)) return false;
    best.schedule = std::move(schedule);
    best.judged = *found;
    return true;
  }

  bool take_over(JointResult& best) {
    bool better = false;
    for (const Aspects& aspects : taken_together()) {
      for (const moe::Schedule& seed : problem_.seeds) {
        better = improve(best, with(best.schedule, aspects, seed)) || better;
      }
    }
    return better;
  }

  bool look_around(JointResult& best) {
    bool better = false;
    for (const auto& neighbours : problem_.neighbours) {
      // Neighbours of the schedule that the round began with. A better one found meanwhile has
      // others; they are looked at in the next round.
      for (moe::Schedule& schedule : neighbours(moe::Schedule(best.schedule))) {
        better = improve(best, std::move(schedule)) || better;
      }
    }
    return better;
  }

 private:
  int most() const { return static_cast<int>(problem_.seeds.size()) + problem_.most_tried; }

  const JointProblem& problem_;
  std::set<std::string> tried_;
};

}  // namespace

std::optional<JointResult> search_jointly(const JointProblem& problem) {
  Search search(problem);
  std::optional<JointResult> best;
  for (std::size_t i = 0; i < problem.seeds.size(); ++i) {
    const auto judged = search.judge(problem.seeds[i], {});
    if (judged && (!best || judged->seconds < best->judged.seconds)) {
      best = JointResult{problem.seeds[i], *judged, i, *judged};
    }
  }
  if (!best) return best;
  for (bool better = true; better;) {
    better = search.take_over(*best);
    better = search.look_around(*best) || better;
  }
  best->tried = search.tried();
  return best;
}

std::vector<WithoutAspect> each_taken_away(
    const moe::Schedule& schedule,
    const std::function<std::optional<double>(const moe::Schedule&)>& seconds) {
  std::vector<WithoutAspect> result;
  using enum Aspect;
  for (const Aspect aspect : aspects_of(schedule)) {
    WithoutAspect& one = result.emplace_back(WithoutAspect{aspect, {}, {}});
    for (const Aspects& more :
         {Aspects{}, {weight_gradients}, {gradients}, {gradients, weight_gradients}}) {
      one.with_it = more;
      one.seconds = seconds(without(without(schedule, {aspect}), more));
      if (one.seconds) break;
    }
  }
  return result;
}

}  // namespace tuner
