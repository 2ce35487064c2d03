#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "db/connection.h"
#include "db/records.h"

namespace tuner {

/// Notes in the database that the process which runs a study, and its running trials, are alive:
/// every `every_s` seconds from a thread of its own, whatever else the process does meanwhile.
/// Where others keep the database locked, the next sign will do. No sign is given of a study that
/// another process has taken over.
class SignsOfLife {
 public:
  /// Throws db::Error, and std::runtime_error where the system permits no thread.
  SignsOfLife(const std::string& database, const db::Study& study, std::int64_t run_id,
              double every_s);
  /// Waits until a sign that is being given is stored.
  ~SignsOfLife();
  SignsOfLife(const SignsOfLife&) = delete;
  SignsOfLife& operator=(const SignsOfLife&) = delete;

  /// Throws what ended them, if anything did: TakenOver (study_owner.h), or db::Error of a database
  /// that cannot be written any more.
  void expect_given();

 private:
  void give();

  const std::string study_;
  const std::int64_t study_id_, run_id_;
  const double every_s_;
  db::Connection connection_;

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  bool ended_ = false;
  std::exception_ptr failure_;

  std::thread thread_;  ///< last: it uses all members
};

}  // namespace tuner
