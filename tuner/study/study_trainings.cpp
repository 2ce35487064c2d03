#include "tuner/study/study_trainings.h"

namespace tuner {

WatchedRun train(const db::Connection& connection, const StudyTrainings& how,
                 const StudyTraining& one) {
  const auto train_once = [&] {
    how.before_training(one.expected_s);
    return train(how.job, one.schedules, one.steps, one.timelines, one.limit_s, how.alive);
  };
  WatchedRun run = train_undisturbed(connection, train_once, how.most_of_others, how.say);
  if (status_of(run.results) == "done") how.check_run(run.results.front().run_id);
  return run;
}

}  // namespace tuner
