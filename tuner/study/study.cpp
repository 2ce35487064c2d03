#include "tuner/study/study.h"

#include "tuner/study/study_run.h"

namespace tuner {

StudyEnd run_study(const StudyOptions& options) {
  StudyRun study(options);
  return options.dry_run ? study.plan() : study.run();
}

}  // namespace tuner
