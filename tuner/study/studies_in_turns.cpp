#include "tuner/study/studies_in_turns.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "db/connection.h"
#include "db/error.h"
#include "moe/errors.h"
#include "moe/lost_output.h"
#include "moe/stop.h"
#include "tuner/study/open_study.h"
#include "tuner/study/study_owner.h"
#include "tuner/study/study_run.h"

namespace tuner {
namespace {

class StudiesInTurns {
 public:
  explicit StudiesInTurns(const std::vector<StudyOptions>& studies) : studies_(studies) {}

  std::vector<StudyEnd> run() {
    ends_.resize(studies_.size());
    std::optional<EndedEarly> early;
    try {
      for (const StudyOptions& one : studies_) runs_.push_back(std::make_unique<StudyRun>(one));
      each([](StudyRun& study) { study.prepare(); });
      train_rounds();
      while (refine()) train_rounds();
    } catch (const EndedEarly& ended) {
      studies_.front().say(ended.what());
      early = ended;
    } catch (const std::exception& error) {
      const bool stopped = dynamic_cast<const moe::Stopped*>(&error) != nullptr ||
                           dynamic_cast<const TakenOver*>(&error) != nullptr;
      for (const auto& study : runs_) {
        if (study) study->abandon(stopped ? "killed" : "failed", error.what());
      }
      throw;
    }
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i]) ends_[i] = runs_[i]->conclude(early);
    }
    if (first_error_ && std::ranges::none_of(runs_, [](const auto& study) { return !!study; })) {
      std::rethrow_exception(first_error_);
    }
    return std::move(ends_);
  }

 private:
  /// Those that have not failed. One that fails now is left out from now on.
  void each(const std::function<void(StudyRun&)>& step) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!runs_[i]) continue;
      try {
        step(*runs_[i]);
      } catch (const EndedEarly&) {
        throw;
      } catch (const std::exception& error) {
        if (concerns_all(error)) throw;
        studies_[i].say(error.what());
        runs_[i]->abandon("failed", error.what());
        runs_[i].reset();
        ends_[i].failure = error.what();
        if (!first_error_) first_error_ = std::current_exception();
      }
    }
  }

  void train_rounds() {
    bool trained = true;
    while (trained) {
      trained = false;
      int repeat = 0;
      each([&](StudyRun& study) { repeat = std::max(repeat, study.newest_repeat()); });
      each([&](StudyRun& study) { trained |= study.train_round(repeat + 1); });
    }
  }

  bool refine() {
    bool refined = false;
    each([&](StudyRun& study) { refined |= study.refine(); });
    return refined;
  }

  const std::vector<StudyOptions>& studies_;
  std::vector<std::unique_ptr<StudyRun>> runs_;  ///< none of a study that failed
  std::vector<StudyEnd> ends_;
  std::exception_ptr first_error_;
};

}  // namespace

bool concerns_all(const std::exception& error) {
  return dynamic_cast<const moe::Stopped*>(&error) != nullptr ||
         dynamic_cast<const TakenOver*>(&error) != nullptr ||
         dynamic_cast<const db::Error*>(&error) != nullptr ||
         dynamic_cast<const moe::LostOutput*>(&error) != nullptr;
}

void expect_new(const std::vector<StudyOptions>& studies) {
  std::error_code ignored;
  for (const StudyOptions& one : studies) {
    const std::string& database = one.job.database;
    if (one.resume || !std::filesystem::exists(database, ignored)) continue;
    refuse_existing(db::open_reader(database), one.name, database);
  }
}

std::vector<StudyEnd> run_in_turns(const std::vector<StudyOptions>& studies) {
  expect_new(studies);
  if (!studies.empty() && studies.front().dry_run) {
    std::vector<StudyEnd> ends;
    for (const StudyOptions& one : studies) ends.push_back(run_study(one));
    return ends;
  }
  return StudiesInTurns(studies).run();
}

}  // namespace tuner
