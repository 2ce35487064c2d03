#include "moe/communicator/run_job.h"

#include <fmt/format.h>

#include "db/console/exit_codes.h"
#include "db/console/output_error.h"
#include "db/console/run_program.h"
#include "moe/communicator/launch.h"
#include "moe/communicator/mpirun.h"
#include "moe/errors.h"
#include "moe/stop.h"

namespace moe {
namespace {

/// After an exception that other ranks know nothing of.
[[noreturn]] void end_job(const Job& job, std::optional<int> rank, const std::exception& error) {
  const std::string_view text = error.what();
  const bool name_rank = rank && !text.starts_with("rank ");
  db::say_error(job.program,
                name_rank ? fmt::format("rank {}: {}", *rank, text) : std::string(text));
  abort_job(stop_signal() != 0 ? db::exit_code_of_signal(stop_signal()) : exit_code(error));
}

}  // namespace

int run_job(const Job& job, char** argv, const std::function<void()>& prepare,
            const std::function<int(Communicator& world)>& work) {
  tell_launcher();
  choose_waiting(job.ranks, job.threads, argv);
  std::optional<int> rank;
  // What every rank throws needs one message, and nobody has to be told.
  const auto end_together = [&](const std::exception& error) {
    if (rank.value_or(0) == 0) db::say_error(job.program, error.what());
    return exit_code(error);
  };
  int code = db::kExitDone;
  try {
    prepare();
    stop_when_asked();
    const std::unique_ptr<Communicator> world = join_world(job.ranks, argv, job.time_limit_s);
    rank = world->rank;
    code = work(*world);
  } catch (const db::OutputError& error) {
    if (!error.closed()) db::say_error(job.program, error.what());
    abort_job(error.exit_code);
  } catch (const Stopped& stopped) {
    code = end_together(stopped);
  } catch (const NotFinite& error) {
    code = end_together(error);
  } catch (const std::exception& error) {
    end_job(job, rank, error);
  }
  finalize_mpi();
  return code;
}

}  // namespace moe
