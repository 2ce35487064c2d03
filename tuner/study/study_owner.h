#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "db/connection.h"
#include "db/liveness.h"

/// A study has one owner: the process that runs it, on whichever computer.
namespace tuner {

/// How often an owner gives a sign of life, and how long another computer is listened to. Its clock
/// may be wrong, so that the age of its last heartbeat says little: it counts as gone where the
/// heartbeat does not move while this process looks, and is alive where it moves.
struct OwnerWatch {
  double gone_after_s = 60;  ///< without a heartbeat; its age by the clocks counts towards that
  double look_s = 20;        ///< the least time to look, whatever the clocks say
  double pause_s = 0.25;     ///< between looks
  double sign_s = 1;         ///< between signs of this process (signs_of_life.h)
};

/// Lets `begin` write that this process runs a study, in one transaction. Waits until owners of other
/// computers that give no sign count as gone. Throws moe::InputError with process, host and age of
/// the last sign where another process runs the study, and moe::Stopped where a signal asks this one
/// to end meanwhile. Where two computers come at one time, one of them is refused.
void claim_study(db::Connection& connection, const std::string& study, const std::string& hostname,
                 const OwnerWatch& watch, const std::function<void(const std::string&)>& say,
                 const std::function<void()>& begin);

/// A study that another process has taken over, because this one gave no sign for long.
struct TakenOver : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Throws TakenOver where a process has begun to run the study after `run_id`.
void expect_still_owner(const db::Connection& connection, const std::string& study,
                        std::int64_t run_id);

}  // namespace tuner
