#include "tuner/study/studies_in_turns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "db/connection.h"
#include "db/error.h"
#include "moe/errors.h"
#include "moe/lost_output.h"
#include "moe/stop.h"
#include "tuner/study/open_study.h"
#include "tuner/study/profile.h"
#include "tuner/study/profiled_layouts.h"
#include "tuner/study/study_owner.h"
#include "tuner/study/study_run.h"
#include "tuner/study/training_plan.h"

namespace tuner {
namespace {

class StudiesInTurns {
 public:
  StudiesInTurns(const std::vector<StudyOptions>& studies,
                 const std::function<void(const std::string&)>& say)
      : studies_(studies), say_(say) {}

  std::vector<StudyEnd> run() {
    ends_.resize(studies_.size());
    std::optional<EndedEarly> early;
    try {
      for (const StudyOptions& one : studies_) runs_.push_back(std::make_unique<StudyRun>(one));
      if (have_one_profile()) {
        prepare_by_one_profile();
      } else {
        each([](StudyRun& study) { study.prepare(); });
      }
      train_rounds();
      while (refine()) train_rounds();
    } catch (const EndedEarly& ended) {
      say_(ended.what());
      early = ended;
    } catch (const moe::Stopped& stopped) {
      abandon("killed", stopped.what());
      throw moe::Stopped(
          fmt::format("studies stopped: {}; --resume goes on with them", stopped.what()),
          stopped.signal);
    } catch (const TakenOver& error) {
      abandon("killed", error.what());
      throw;
    } catch (const std::exception& error) {
      abandon("failed", error.what());
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
  void abandon(const std::string& status, const std::string& error) {
    for (const auto& study : runs_) {
      if (study) study->abandon(status, error);
    }
  }

  /// Those that have not failed. One that fails now is left out from now on.
  void each(const std::function<void(StudyRun&)>& step) {
    for (std::size_t i = 0; i < runs_.size(); ++i) one(i, step);
  }

  /// False where it has failed.
  bool one(std::size_t i, const std::function<void(StudyRun&)>& step) {
    if (!runs_[i]) return false;
    try {
      step(*runs_[i]);
      return true;
    } catch (const EndedEarly&) {
      throw;
    } catch (const std::exception& error) {
      if (concerns_all(error)) throw;
      studies_[i].say(error.what());
      runs_[i]->abandon("failed", error.what());
      runs_[i].reset();
      ends_[i].failure = error.what();
      if (!first_error_) first_error_ = std::current_exception();
      return false;
    }
  }

  std::string layout_of(std::size_t i) const {
    return moe::short_text(runs_[i]->program().groups.layout);
  }

  bool have_one_profile() const {
    return studies_.size() > 1 && runs_.front()->wants_one_profile();
  }

  /// The layout that was profiled in whole; none where all have failed.
  std::optional<std::size_t> profile_in_whole(std::vector<std::int64_t>& profiled) {
    while (true) {
      std::vector<std::size_t> places;
      std::vector<const moe::Program*> programs;
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        if (!runs_[i]) continue;
        places.push_back(i);
        programs.push_back(&runs_[i]->program());
      }
      if (programs.empty()) return std::nullopt;
      const std::size_t i = places[profiled_in_whole(programs)];
      if (one(i, [&](StudyRun& study) { profiled = study.train_profile(false); })) return i;
    }
  }

  void prepare_by_one_profile() {
    std::vector<std::int64_t> profiled;
    const std::optional<std::size_t> whole = profile_in_whole(profiled);
    if (!whole) return;
    const moe::Groups measured = runs_[*whole]->groups();
    std::vector<Kinds> kinds(runs_.size());
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!runs_[i]) continue;
      runs_[i]->take_places(measured);
      kinds[i] = runs_[i]->kinds_to_measure();
    }
    std::vector<std::string> briefly;
    Kinds known = kinds[*whole];
    while (const auto next = next_to_profile(kinds, known)) {
      const Kinds of_next = std::exchange(kinds[*next], {});
      const bool is_profiled = one(*next, [&](StudyRun& study) {
        studies_[*next].say(
            fmt::format("profiled briefly for {}", fmt::join(lacking_kinds(of_next, known), ", ")));
        std::ranges::copy(study.train_profile(true), std::back_inserter(profiled));
      });
      if (!is_profiled) continue;
      add_kinds(of_next, known);
      briefly.push_back(layout_of(*next));
    }
    const std::string said =
        fmt::format("costs are those of the profile of layout {}{}{}", layout_of(*whole),
                    briefly.empty() ? "" : " and, briefly, ", fmt::join(briefly, " and "));
    std::optional<Profile> profile;
    one(*whole, [&](StudyRun& study) { profile = study.profile_of(profiled); });
    if (!profile) std::rethrow_exception(first_error_);
    say_(said);
    const moe::Program program = runs_[*whole]->program();
    each([&](StudyRun& study) { study.predict_by(*profile, program, profiled); });
  }

  void train_rounds() {
    bool trained = true;
    while (trained) {
      say_what_is_left();
      trained = false;
      int repeat = 0;
      each([&](StudyRun& study) { repeat = std::max(repeat, study.newest_repeat()); });
      each([&](StudyRun& study) { trained |= study.train_round(repeat + 1); });
    }
  }

  void say_what_is_left() {
    int studies = 0, trainings = 0;
    double seconds = 0;
    each([&](StudyRun& study) {
      const TrialsPlan left = study.rounds_left();
      studies += left.trainings > 0;
      trainings += left.trainings;
      seconds += left.seconds;
    });
    if (trainings == 0) return;
    say_(fmt::format("{} training{} of {} layout{} left, about {}", trainings,
                     trainings == 1 ? "" : "s", studies, studies == 1 ? "" : "s",
                     about_so_long(seconds)));
  }

  bool refine() {
    bool refined = false;
    each([&](StudyRun& study) { refined |= study.refine(); });
    return refined;
  }

  const std::vector<StudyOptions>& studies_;
  const std::function<void(const std::string&)>& say_;
  std::vector<std::unique_ptr<StudyRun>> runs_;  ///< none of a study that failed
  std::vector<StudyEnd> ends_;
  std::exception_ptr first_error_;
};

/// Before anything is trained all ranks are taken to be on one node, so that a profile may turn out to
/// have more or fewer layouts.
std::vector<StudyEnd> plans_of(const std::vector<StudyOptions>& studies) {
  std::vector<std::unique_ptr<StudyRun>> runs;
  std::vector<const moe::Program*> programs;
  std::vector<Kinds> kinds;
  for (const StudyOptions& one : studies) {
    runs.push_back(std::make_unique<StudyRun>(one));
    programs.push_back(&runs.back()->program());
    kinds.push_back(runs.back()->kinds_to_measure());
  }
  using Part = StudyRun::ProfilePart;
  const bool one_profile = studies.size() > 1 && runs.front()->wants_one_profile();
  std::vector<Part> parts(studies.size(), one_profile ? Part::none : Part::whole);
  if (one_profile) {
    const std::size_t whole = profiled_in_whole(programs);
    parts[whole] = Part::whole;
    Kinds known = kinds[whole];
    while (const auto next = next_to_profile(kinds, known)) {
      parts[*next] = Part::brief;
      add_kinds(kinds[*next], known);
    }
  }
  std::vector<StudyEnd> ends;
  for (std::size_t i = 0; i < runs.size(); ++i) ends.push_back(runs[i]->plan(parts[i]));
  return ends;
}

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

std::vector<StudyEnd> run_in_turns(const std::vector<StudyOptions>& studies,
                                   const std::function<void(const std::string&)>& say) {
  expect_new(studies);
  if (!studies.empty() && studies.front().dry_run) return plans_of(studies);
  return StudiesInTurns(studies, say).run();
}

}  // namespace tuner
