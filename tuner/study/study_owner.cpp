#include "tuner/study/study_owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "db/store.h"
#include "db/transaction.h"
#include "moe/errors.h"
#include "moe/stop.h"

namespace tuner {
namespace {

using Clock = std::chrono::steady_clock;
using Owners = std::vector<db::StudyOwner>;

/// By the clocks of two computers, so it may be wrong.
double age_s(const db::StudyOwner& owner) { return std::max(0.0, db::now() - owner.heartbeat_at); }

[[noreturn]] void refuse(const std::string& study, const db::StudyOwner& owner) {
  if (owner.is_here) {
    throw moe::InputError(fmt::format("study \"{}\" is being run by process {}", study, owner.pid));
  }
  throw moe::InputError(fmt::format(
      "study \"{}\" is being run by process {} on {}, which gave a sign {:.0f} s ago: end it "
      "there, or name another study",
      study, owner.pid, owner.hostname, age_s(owner)));
}

/// The owners of other computers that gave no sign for so long that they count as gone.
Owners owners_that_are_gone(const db::Connection& connection, const std::string& study,
                            const std::string& hostname, const OwnerWatch& watch,
                            const std::function<void(const std::string&)>& say) {
  struct Seen {
    db::StudyOwner owner;
    Clock::time_point gone_at;
  };
  std::map<std::int64_t, Seen> seen;  // by run
  while (true) {
    if (const int signal = moe::stop_signal()) {
      throw moe::Stopped(moe::stop_reason(signal), signal);
    }
    const Owners owners = db::owners_of_study(connection, study, hostname);
    bool all_gone = true;
    for (const db::StudyOwner& owner : owners) {
      if (owner.is_here) refuse(study, owner);
      const auto found = seen.find(owner.run_id);
      if (found == seen.end()) {
        const double left_s =
            std::clamp(watch.gone_after_s - age_s(owner),
                       std::min(watch.look_s, watch.gone_after_s), watch.gone_after_s);
        const auto wait =
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(left_s));
        seen[owner.run_id] = {owner, Clock::now() + wait};
        say(
            fmt::format("process {} on {} has not ended study \"{}\" and gave a sign {:.0f} s ago: "
                        "it counts as "
                        "gone if it gives none for {:.0f} s",
                        owner.pid, owner.hostname, study, age_s(owner), left_s));
        all_gone = false;
      } else if (found->second.owner != owner) {
        refuse(study, owner);
      } else {
        all_gone = all_gone && Clock::now() >= found->second.gone_at;
      }
    }
    if (all_gone) return owners;
    std::this_thread::sleep_for(std::chrono::duration<double>(watch.pause_s));
  }
}

}  // namespace

void claim_study(db::Connection& connection, const std::string& study, const std::string& hostname,
                 const OwnerWatch& watch, const std::function<void(const std::string&)>& say,
                 const std::function<void()>& begin) {
  while (true) {
    const Owners gone = owners_that_are_gone(connection, study, hostname, watch, say);
    db::Transaction transaction(connection, "claim a study");
    // Another process may have come, or given a sign, while this one waited for the lock.
    if (db::owners_of_study(connection, study, hostname) != gone) continue;
    begin();
    transaction.commit();
    return;
  }
}

void expect_still_owner(const db::Connection& connection, const std::string& study,
                        std::int64_t run_id) {
  const auto later = db::later_owner_of_study(connection, study, run_id);
  if (!later) return;
  throw TakenOver(fmt::format(
      "study \"{}\" was taken over by process {} on {}, since this process gave no sign for long",
      study, later->pid, later->hostname));
}

}  // namespace tuner
