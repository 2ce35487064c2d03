#include "moe/train/planning.h"

#include <chrono>
#include <utility>

#include "moe/communicator/announced_work.h"

namespace moe {
namespace {

using PlanningClock = std::chrono::steady_clock;

double seconds_since(PlanningClock::time_point begin) {
  return std::chrono::duration<double>(PlanningClock::now() - begin).count();
}

}  // namespace

Planning::Planning(Replan replan, PlanningTurn turn, int steps)
    : replan_(std::move(replan)), turn_(turn), steps_(steps) {}

Planning::~Planning() {
  if (!running_.valid()) return;
  const AnnouncedWork waiting("ends a plan that nobody needs any more");
  running_.wait();
}

std::optional<Schedule> Planning::after(SeenIteration seen) {
  const auto begin = PlanningClock::now();
  Planned before;
  if (running_.valid()) before = running_.get();
  const double waited_s = seconds_since(begin);
  if (before.schedule) seen.in_force = *before.schedule;
  const bool rules_nothing = turn_ == PlanningTurn::beside && seen.iteration + 1 >= steps_;
  if (rules_nothing) return counted(std::move(before), waited_s);
  auto plan = [replan = &replan_, seen = std::move(seen)] {
    const auto planning_begins = PlanningClock::now();
    Planned planned{(*replan)(seen), 0};
    planned.duration_s = seconds_since(planning_begins);
    return planned;
  };
  if (turn_ == PlanningTurn::between) {
    Planned planned = plan();
    return counted(std::move(planned), seconds_since(begin));
  }
  running_ = std::async(std::launch::async, std::move(plan));
  return counted(std::move(before), waited_s);
}

std::optional<Schedule> Planning::counted(Planned planned, double exposed_s) {
  if (planned.schedule) {
    ++time_.plans;
    time_.total_s += planned.duration_s;
    time_.exposed_s += exposed_s;
  }
  return std::move(planned.schedule);
}

}  // namespace moe
