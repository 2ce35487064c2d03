#include "tuner/scenario/profiled_plan.h"

#include <memory>
#include <utility>

#include "db/console/statistics.h"

namespace tuner {
namespace {

/// Ends the thread of a training that has ended before the plan.
struct PlanAbandoned {};

}  // namespace

ProfiledPlan::ProfiledPlan(Plan plan, int iterations) : iterations_(iterations) {
  thread_ = std::thread([this, plan = std::move(plan)] {
    std::optional<moe::Schedule> schedule;
    std::exception_ptr failure;
    try {
      schedule = plan([this](const moe::Schedule& asked) { return ask(asked); });
    } catch (const PlanAbandoned&) {
      return;
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    plan_ = std::move(schedule);
    failure_ = failure;
    changed_.notify_all();
  });
}

ProfiledPlan::~ProfiledPlan() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

double ProfiledPlan::ask(const moe::Schedule& schedule) {
  std::unique_lock lock(mutex_);
  asked_ = schedule;
  answer_.reset();
  changed_.notify_all();
  changed_.wait(lock, [this] { return answer_ || abandoned_; });
  if (!answer_) throw PlanAbandoned();
  return *answer_;
}

moe::Schedule ProfiledPlan::next_request() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return asked_ || plan_ || failure_; });
  if (failure_) std::rethrow_exception(failure_);
  if (plan_) {
    done_ = true;
    return *plan_;
  }
  return *std::exchange(asked_, std::nullopt);
}

std::optional<moe::Schedule> ProfiledPlan::after(double duration_s) {
  if (done_) return std::nullopt;
  if (profiles_ > 0) {
    if (iterations_run_++ > 0) durations_.push_back(duration_s);
    if (static_cast<int>(durations_.size()) < iterations_) return std::nullopt;
    const std::lock_guard lock(mutex_);
    answer_ = db::median(std::exchange(durations_, {}));
    changed_.notify_all();
  }
  iterations_run_ = 0;
  moe::Schedule next = next_request();
  if (!done_) ++profiles_;
  return next;
}

PlanByProfiles plan_by_profiles(PlanInTraining plan, int iterations,
                                std::function<void(int iteration, int profiles)> chosen) {
  const auto running = std::make_shared<std::optional<ProfiledPlan>>();
  PlanByProfiles result;
  result.has_chosen = [running] { return *running && (*running)->is_done(); };
  result.profiles = [running] { return *running ? (*running)->profiles() : 0; };
  result.replan = [=](const moe::SeenIteration& seen) {
    if (!*running) {
      running->emplace(
          [plan, routing = seen.routing](const MicroProfile& profile) {
            return plan({&routing, nullptr, profile});
          },
          iterations);
    }
    const bool had_chosen = (*running)->is_done();
    auto next = (*running)->after(seen.duration_s);
    if ((*running)->is_done() && !had_chosen) chosen(seen.iteration, (*running)->profiles());
    return next;
  };
  return result;
}

}  // namespace tuner
