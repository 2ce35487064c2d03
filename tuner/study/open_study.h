#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "moe/rows/groups.h"
#include "tuner/scenario/given.h"
#include "tuner/study/signs_of_life.h"
#include "tuner/study/study.h"
#include "tuner/study/study_owner.h"
#include "tuner/study/study_place.h"
#include "tuner/study/study_settings.h"

namespace tuner {

/// Throws moe::InputError where there is a study of this name. `database`: what messages call the
/// file.
void refuse_existing(const db::Connection& connection, const std::string& name,
                     const std::string& database);

/// A study that this process runs: its row, the run of this process, and whatever that is told.
/// While it lives and has not ended, this process gives signs of life.
class OpenStudy {
 public:
  /// Begins the study, or goes on with it, as its only owner (study_owner.h). Gives `options` its
  /// kept settings (study_settings.h). All arguments live as long. Throws as run_study().
  OpenStudy(db::Connection& connection, StudyOptions& options, const moe::Groups& groups,
            const std::vector<Given>& given, const OwnerWatch& watch = {});

  /// Throws TakenOver where the study is another's by now, and db::Error where no sign of life can
  /// be stored any more; not where others keep the database locked.
  void check_owner();
  /// Between steps that take long. Throws moe::Stopped too.
  void go_on();

  /// Adds a text to the record of the run; empty: nothing.
  void add_warning(const std::string& text);
  /// The same, and says it.
  void warn(const std::string& text);
  /// Holds a training run to the place of the others (study_place.h).
  void check_place(std::int64_t run) { warn(place_.check(run)); }

  /// Ends the run, with its warnings.
  void finish(const std::string& status);
  /// Ends it after a failure that matters more than one of the database. Trials that it interrupted
  /// are tried again, unless the study is another's by now.
  void abandon(const std::string& status, const std::string& error);

  db::Study study;
  std::int64_t run_id = 0;

 private:
  void begin(const db::Machine& machine, bool exists);

  db::Connection& connection_;
  const StudyOptions& options_;
  std::string hostname_;
  std::string warning_;
  StudyPlace place_{connection_, study};
  std::optional<SignsOfLife> signs_;  ///< none in a dry run, and after the end
};

}  // namespace tuner
