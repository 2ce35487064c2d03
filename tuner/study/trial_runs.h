#pragma once

#include <cstdint>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "tuner/study/study.h"
#include "tuner/study/study_trainings.h"

namespace tuner {

/// How many typical iterations of each repeat are kept with their spans, to which a refinement is
/// fitted: one may have met others on the machine.
inline constexpr int kMostTimelines = 3;

/// Trains the chosen trials of a study (chosen_trials.h) in rounds (rounds.h), and stores every
/// repeat when it is done. The trials of a round take turns in one training, an iteration each, so
/// that a machine which computes faster at times is fair to all. A trial that was trained in all
/// its rounds is done: it has the median of the iterations of all its repeats, and its peak. One
/// that fails is recorded so at once. Says how each training went, which trial is fastest so far,
/// and how long the rest takes. Throws moe::Stopped as train(), and EndedEarly as
/// StudyTrainings::before_training, or where no rank was started (study_trainings.h). Then the trials
/// that were trained count, and those that were not are planned.
void train_trials(db::Connection& connection, const db::Study& study, const StudyTrainings& how);

/// Trains one round of them, under a repeat of the number `least_repeat` or a later one: rounds of
/// several studies that have a number in common count as turns. False where no round is left.
bool train_next_round(db::Connection& connection, const db::Study& study, const StudyTrainings& how,
                      int least_repeat);

/// The largest number of a repeat that the study has, of trials too that are not among the best any
/// more; 0: none.
int newest_repeat(const db::Connection& connection, std::int64_t study_id);

/// What train_trials would train.
struct TrialsPlan {
  std::vector<PlannedTraining> of_trials;
  int trainings = 0;
  double seconds = 0;  ///< of all of them
  double start_s = 0;  ///< of a training, beside its iterations
};
TrialsPlan plan_trials(db::Connection& connection, const db::Study& study,
                       const StudyTrainings& how);

}  // namespace tuner
