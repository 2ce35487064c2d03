#include "tuner/scenario/measured_plan.h"

#include <utility>

#include "db/console/statistics.h"
#include "moe/threads.h"

namespace tuner {
namespace {

/// Ends the planner's thread when training ends before the plan.
struct PlanAbandoned {};

}  // namespace

MeasuredPlan::MeasuredPlan(PlanInTraining plan, int iterations)
    : plan_in_training_(std::move(plan)), iterations_(iterations) {}

void MeasuredPlan::begin(const moe::Routing& routing) {
  routing_ = routing;
  thread_ = moe::start_thread("a planner", [this] {
    std::optional<moe::Schedule> schedule;
    std::exception_ptr failure;
    try {
      const MeasureSchedule measure = [this](const moe::Schedule& asked) { return ask(asked); };
      schedule = plan_in_training_({&routing_, nullptr, measure});
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

MeasuredPlan::~MeasuredPlan() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

double MeasuredPlan::ask(const moe::Schedule& schedule) {
  std::unique_lock lock(mutex_);
  asked_ = schedule;
  answer_.reset();
  changed_.notify_all();
  changed_.wait(lock, [this] { return answer_ || abandoned_; });
  if (!answer_) throw PlanAbandoned();
  return *answer_;
}

moe::Schedule MeasuredPlan::next_request() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return asked_ || plan_ || failure_; });
  if (failure_) std::rethrow_exception(failure_);
  if (plan_) {
    done_ = true;
    return *plan_;
  }
  return *std::exchange(asked_, std::nullopt);
}

std::optional<moe::Schedule> MeasuredPlan::after(const moe::Routing& routing, double duration_s) {
  if (done_) return std::nullopt;
  if (!thread_.joinable()) begin(routing);
  if (measured_ > 0) {
    if (iterations_run_++ > 0) durations_.push_back(duration_s);
    if (static_cast<int>(durations_.size()) < iterations_) return std::nullopt;
    const std::lock_guard lock(mutex_);
    answer_ = db::median(std::exchange(durations_, {}));
    changed_.notify_all();
  }
  iterations_run_ = 0;
  moe::Schedule next = next_request();
  if (!done_) ++measured_;
  return next;
}

}  // namespace tuner
