#include "tuner/study/signs_of_life.h"

#include <chrono>

#include "db/error.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/threads.h"
#include "tuner/study/study_owner.h"

namespace tuner {
namespace {

/// A sign that has to wait longer for other writers is left out: who ends the study waits for it.
constexpr double kWaitForWriters_s = 1;

}  // namespace

SignsOfLife::SignsOfLife(const std::string& database, const db::Study& study, std::int64_t run_id,
                         double every_s)
    : study_(study.name),
      study_id_(study.id),
      run_id_(run_id),
      every_s_(every_s),
      connection_(db::open_writer(database)) {
  connection_.set_busy_timeout(kWaitForWriters_s);
  thread_ = moe::start_thread("signs of life", [this] { give(); });
}

SignsOfLife::~SignsOfLife() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SignsOfLife::expect_given() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void SignsOfLife::give() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::duration<double>(every_s_),
                            [this] { return ended_; })) {
    lock.unlock();
    std::exception_ptr failure;
    try {
      db::Transaction transaction(connection_, "store a heartbeat");
      expect_still_owner(connection_, study_, run_id_);
      db::heartbeat_study(connection_, run_id_, study_id_);
      transaction.commit();
    } catch (const db::Error& error) {
      if (error.kind != db::ErrorKind::locked) failure = std::current_exception();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      failure_ = failure;
      return;
    }
  }
}

}  // namespace tuner
