#include "moe/communicator/run_job.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>

#include "db/console/exit_codes.h"
#include "db/console/log.h"
#include "db/console/output_error.h"
#include "moe/backend/backend.h"
#include "moe/communicator/announced_work.h"
#include "moe/communicator/launch.h"
#include "moe/communicator/mpirun.h"
#include "moe/communicator/ranks.h"
#include "moe/errors.h"
#include "moe/lost_output.h"
#include "moe/outcome_channel.h"
#include "moe/stop.h"

namespace moe {
namespace {

/// Tells the launcher how this rank, or this process before there are ranks, has failed; where
/// there is no launcher, the program itself.
void report(const Job& job, const Outcome& outcome) {
  if (!hand_to_launcher(outcome) && job.failed) job.failed(outcome);
}

std::string words_of(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? "out of memory" : error.what();
}

/// After an exception that other ranks know nothing of.
[[noreturn]] void end_job(const Job& job, std::optional<int> rank, const std::exception& error) {
  if (rank) db::log_as_rank(*rank);
  spdlog::error(words_of(error));
  report(job, outcome_of(error, rank));
  abort_job(stop_signal() != 0 ? db::exit_code_of_signal(stop_signal()) : exit_code(error));
}

/// The process that starts ranks does not return: it ends as they end.
std::unique_ptr<Communicator> join_ranks(const Job& job, char** argv) {
  std::optional<OutcomeChannel> channel;
  if (!inside_mpi_job() && job.ranks.value_or(1) > 1) channel.emplace();
  return join_world(job.ranks, argv, job.time_limit_s, [&](int code) {
    if (code != db::kExitDone && job.failed) job.failed(first_cause(channel->outcomes(), code));
  });
}

/// Every rank reads the user's files. Returns the exit code of the first rank that cannot; this one
/// calls `failed`.
int prepare_together(const Job& job, Communicator& world, const std::function<void()>& prepare,
                     const std::function<int(const std::exception&)>& failed) {
  std::exception_ptr thrown;
  std::string code;
  try {
    const AnnouncedWork reading("reads its inputs");
    prepare();
  } catch (const std::exception& error) {
    thrown = std::current_exception();
    code = std::to_string(exit_code(error));
  }
  const auto codes = gather_texts(
      world, code, {.time_limit_s = job.time_limit_s, .what = "reading of the inputs"});
  const auto first = std::ranges::find_if(codes, [](const auto& text) { return !text.empty(); });
  if (first == codes.end()) return db::kExitDone;
  if (first - codes.begin() != world.rank) return std::stoi(*first);
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return failed(error);
  }
}

}  // namespace

int run_job(const Job& job, char** argv, const std::function<void()>& prepare,
            const std::function<int(Communicator& world)>& work) {
  tell_launcher();
  leave_openmp_place();
  std::optional<int> rank;
  // An error that every rank throws needs one message, and no rank has to be told.
  const auto tell = [&](const std::exception& error) {
    spdlog::error(words_of(error));
    report(job, outcome_of(error, rank));
    return exit_code(error);
  };
  const auto end_together = [&](const std::exception& error) {
    return rank.value_or(0) == 0 ? tell(error) : exit_code(error);
  };
  int code = db::kExitDone;
  try {
    std::unique_ptr<Communicator> world;
    if (inside_mpi_job()) {
      world = join_ranks(job, argv);
      rank = world->rank;
      if (*rank > 0) db::log_as_rank(*rank);
      code = prepare_together(job, *world, prepare, tell);
      stop_when_asked();
    } else {
      prepare();
      stop_when_asked();
      world = join_ranks(job, argv);
      rank = world->rank;
    }
    if (code == db::kExitDone) code = work(*world);
  } catch (const db::OutputError& error) {
    if (!error.closed()) spdlog::error(error.what());
    abort_job(error.exit_code);
  } catch (const Stopped& stopped) {
    code = end_together(stopped);
  } catch (const NotFinite& error) {
    code = end_together(error);
  } catch (const CheckpointError& error) {
    code = end_together(error);
  } catch (const LostOutput& error) {
    code = end_together(error);
  } catch (const std::exception& error) {
    end_job(job, rank, error);
  }
  finalize_mpi();
  return code;
}

}  // namespace moe
