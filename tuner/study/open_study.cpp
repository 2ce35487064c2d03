#include "tuner/study/open_study.h"

#include <fmt/format.h>

#include "db/error.h"
#include "db/identity.h"
#include "db/liveness.h"
#include "db/load.h"
#include "db/store.h"
#include "moe/backend/cuda_module.h"
#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "moe/run/machine.h"
#include "moe/stop.h"
#include "tuner/scenario/measured_place.h"

namespace tuner {
namespace {

void refuse_emulated_device(const StudyOptions& options) {
  if (options.job.device != "cuda" || !moe::cuda_is_emulated()) return;
  throw moe::InputError(
      fmt::format("study \"{}\": this CUDA device is emulated in software, and its times say "
                  "nothing about a GPU: expected --device cpu",
                  options.name));
}

db::Study new_study(const StudyOptions& options, const moe::Groups& groups,
                    const std::vector<Given>& given) {
  db::Study study;
  study.name = options.name;
  study.part_of = options.part_of;
  study.created_at = db::now();
  study.model_json = moe::to_json(options.model);
  study.settings_json = settings_json(options, given);
  study.ranks = options.job.ranks;
  study.layout = to_text(groups.layout);
  return study;
}

}  // namespace

void refuse_existing(const db::Connection& connection, const std::string& name,
                     const std::string& database) {
  if (!db::find_study(connection, name)) return;
  throw moe::InputError(fmt::format(
      "study \"{}\" exists in {}: add --resume to continue it, or name another", name, database));
}

OpenStudy::OpenStudy(db::Connection& connection, StudyOptions& options, const moe::Groups& groups,
                     const std::vector<Given>& given, const OwnerWatch& watch)
    : connection_(connection), options_(options) {
  refuse_emulated_device(options);
  const db::Machine machine = moe::this_machine();
  hostname_ = machine.hostname;
  if (!options.resume) refuse_existing(connection, options.name, options.job.database);
  const auto found = db::find_study(connection, options.name);
  if (found) {
    study = *found;
    check_same_inputs(study, options, groups.layout, given);
    warn(check_begun_here(connection, study, this_place(machine, options.job.network())));
  } else {
    study = new_study(options, groups, given);
  }
  if (options.dry_run) {
    begin(machine, found.has_value());
  } else {
    claim_study(connection, options.name, hostname_, watch, options.say,
                [&] { begin(machine, found.has_value()); });
    signs_.emplace(connection.path(), study, run_id, watch.sign_s);
  }
  keep_settings(options, study.settings_json);
}

/// In one transaction.
void OpenStudy::begin(const db::Machine& machine, bool exists) {
  if (exists) {
    study = db::find_study(connection_, options_.name).value();  // its last owner may have gone on
    db::bury_runs(connection_, options_.name, hostname_);
    const int requeued = db::requeue_trials(connection_, study.id);
    options_.say(
        fmt::format("study {} resumed, {} interrupted trials go on", options_.name, requeued));
    if (options_.retry_failed) {
      options_.say(fmt::format("{} failed trials are tried again",
                               db::retry_failed_trials(connection_, study.id)));
    }
  } else if (db::find_study(connection_, options_.name)) {
    throw moe::InputError(fmt::format(
        "study \"{}\" was begun by another process just now: add --resume to continue it, or name "
        "another",
        options_.name));
  } else {
    study.id = db::insert(connection_, study);
  }
  std::vector<const char*> argv;
  for (const std::string& argument : options_.argv) argv.push_back(argument.c_str());
  db::Run run = db::this_run("study", options_.name, static_cast<int>(argv.size()), argv.data());
  run.device = options_.job.device;
  run.network = options_.job.network();
  run.ranks = options_.job.ranks;
  run.layout = study.layout;
  run.model_json = study.model_json;
  run.seed = options_.model.seed;
  run_id = db::begin_run(connection_, run, machine);
}

void OpenStudy::check_owner() {
  if (signs_) signs_->expect_given();
  try {
    expect_still_owner(connection_, study.name, run_id);
  } catch (const db::Error& error) {
    if (error.kind != db::ErrorKind::locked) throw;  // by others, for long: the next time will do
  }
}

void OpenStudy::go_on() {
  check_owner();
  if (const int signal = moe::stop_signal()) throw moe::Stopped(moe::stop_reason(signal), signal);
}

void OpenStudy::add_warning(const std::string& text) {
  if (text.empty()) return;
  warning_ += (warning_.empty() ? "" : "\n") + text;
}

void OpenStudy::warn(const std::string& text) {
  if (!text.empty()) options_.say(text);
  add_warning(text);
}

void OpenStudy::finish(const std::string& status) {
  signs_.reset();
  db::finish_run(connection_, run_id, status, warning_);
  db::bury_runs(connection_, options_.name, hostname_);
}

void OpenStudy::abandon(const std::string& status, const std::string& error) {
  signs_.reset();
  try {
    if (!db::later_owner_of_study(connection_, study.name, run_id)) {
      db::requeue_trials(connection_, study.id);
    }
    db::finish_run(connection_, run_id, status, error);
  } catch (const db::Error& other) {
    if (error != other.what()) options_.say(other.what());
  }
}

}  // namespace tuner
