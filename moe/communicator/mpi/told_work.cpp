#include "moe/communicator/mpi/told_work.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <list>
#include <string_view>
#include <vector>

#include "moe/communicator/announced_work.h"
#include "moe/communicator/launcher_words.h"
#include "moe/communicator/mpi/messages.h"
#include "moe/stop.h"
#include "moe/threads.h"

namespace moe {
namespace {

using WorkClock = std::chrono::steady_clock;

/// The tag of no group: the first is of context 1 (world.cpp).
constexpr int kWorkTag = 0;
constexpr std::size_t kMostText = 200;
constexpr double kShortestInterval_s = 0.01, kLongestInterval_s = 1;

/// Words that MPI may still read.
class WordsToRanks {
 public:
  WordsToRanks(MPI_Comm comm, int rank, int ranks) : comm_(comm), rank_(rank), ranks_(ranks) {}

  /// The caller holds mpi_mutex(), also below.
  void tell(std::string_view what) {
    Word& word = words_.emplace_back();
    word.text = what.substr(0, kMostText);
    for (int other = 0; other < ranks_; ++other) {
      if (other == rank_) continue;
      MPI_Isend(word.text.data(), static_cast<int>(word.text.size()), MPI_BYTE, other, kWorkTag,
                comm_, &word.requests.emplace_back(MPI_REQUEST_NULL));
    }
  }
  /// Lets MPI go on with what is under way.
  void look_after() {
    std::erase_if(words_, [](Word& word) {
      int done = 0;
      MPI_Testall(static_cast<int>(word.requests.size()), word.requests.data(), &done,
                  MPI_STATUSES_IGNORE);
      return done != 0;
    });
  }

 private:
  struct Word {
    std::string text;
    std::vector<MPI_Request> requests;
  };
  MPI_Comm comm_;
  int rank_, ranks_;
  std::list<Word> words_;
};

}  // namespace

WorkTeller::WorkTeller(MPI_Comm comm, int rank, int ranks, double limit_s)
    : thread_(start_thread("telling others what a rank does", [this, comm, rank, ranks, limit_s] {
        run(comm, rank, ranks, limit_s);
      })) {}

WorkTeller::~WorkTeller() { end(); }

void WorkTeller::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void WorkTeller::run(MPI_Comm comm, int rank, int ranks, double limit_s) {
  use_core(CoreUse::waits);
  static WordsToRanks words(comm, rank, ranks);  // MPI may read them until the process ends
  std::unique_lock mpi(mpi_mutex(), std::defer_lock);
  const std::chrono::duration<double> interval(
      std::clamp(limit_s / 4, kShortestInterval_s, kLongestInterval_s));
  bool told = false;
  double said_s = 0;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return ended_; })) {
    const auto work = announced_work();
    const bool tells = work && work->awaited_by == AwaitedBy::ranks;
    if (work && stop_signal() != 0) tell_launcher_of_work(rank, work->what);
    if (tells || told) {
      // A thread that ends the job keeps MPI for itself, and then this one.
      while (!mpi.try_lock()) {
        if (changed_.wait_for(lock, std::chrono::milliseconds(1), [this] { return ended_; })) {
          return;
        }
      }
      words.tell(tells ? work->what : "");
      words.look_after();
      mpi.unlock();
    }
    told = tells;
    const double lasts_s =
        tells ? std::chrono::duration<double>(WorkClock::now() - work->begin).count() : 0;
    if (lasts_s < limit_s) {
      said_s = 0;
    } else if (lasts_s > 2 * said_s) {
      said_s = lasts_s;
      spdlog::info("rank {} {}: {:.0f} s so far, and the other ranks wait", rank, work->what,
                   lasts_s);
    }
  }
}

std::optional<ToldWork> hear_work(MPI_Comm comm) {
  static std::optional<ToldWork> last;
  while (true) {
    MPI_Status status;
    int there = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kWorkTag, comm, &there, &status), "MPI_Iprobe");
    if (there == 0) return last;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::string what(static_cast<std::size_t>(bytes), '\0');
    check_mpi(MPI_Recv(what.data(), bytes, MPI_BYTE, status.MPI_SOURCE, kWorkTag, comm,
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
    // One rank's word that it works no more does not end the work of another.
    if (what.empty() && last && last->rank != status.MPI_SOURCE) continue;
    last = {status.MPI_SOURCE, std::move(what), WorkClock::now()};
  }
}

}  // namespace moe
