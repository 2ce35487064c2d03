#include "moe/communicator/run_job.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "db/console/exit_codes.h"
#include "db/console/log.h"
#include "db/console/output_error.h"
#include "moe/backend/backend.h"
#include "moe/communicator/announced_work.h"
#include "moe/communicator/gpu_cluster.h"
#include "moe/communicator/handed_inputs.h"
#include "moe/communicator/launch.h"
#include "moe/communicator/launcher_words.h"
#include "moe/communicator/local.h"
#include "moe/communicator/mpi_job.h"
#include "moe/communicator/node_name.h"
#include "moe/communicator/option_facts.h"
#include "moe/communicator/ranks.h"
#include "moe/errors.h"
#include "moe/input/standard_input.h"
#include "moe/lost_output.h"
#include "moe/stop.h"

namespace moe {
namespace {

/// Tells the launcher how this rank, or this process before there are ranks, has failed; where
/// there is no launcher, the program itself.
void report(const Job& job, const Outcome& outcome) {
  if (!tell_launcher_of(outcome) && job.failed) job.failed(outcome);
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

/// The process that starts ranks does not return: it ends as they end. `handed`: for rank 0.
std::unique_ptr<Communicator> join_ranks(const Job& job, char** argv, const std::string& handed) {
  const auto ended = [&](int code, const std::vector<Outcome>& told) {
    if (code != db::kExitDone && job.failed) job.failed(first_cause(told, code));
  };
  return join_world(job.ranks, argv, job.time_limit_s, ended, handed, job.launcher);
}

/// Does something on this rank while others may do it too. Returns the exit code of the first rank
/// that cannot; this one calls `failed`.
int do_together(const Job& job, Communicator& world, const std::function<void()>& read,
                const std::function<int(const std::exception&)>& failed) {
  std::exception_ptr thrown;
  std::string code;
  try {
    const AnnouncedWork reading("reads its inputs");
    read();
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

/// Says what ranks waited for in vain, of which the one that gave up first need not know: it waited
/// for one of them.
void say_other_waits(const std::vector<std::exception_ptr>& thrown,
                     const std::exception_ptr& first) {
  const auto wait_of = [](const std::exception_ptr& one) -> std::optional<std::string> {
    try {
      if (one) std::rethrow_exception(one);
    } catch (const TimeLimit& error) {
      return error.what();
    } catch (...) {  // of another kind, or told by another rank
    }
    return std::nullopt;
  };
  if (!wait_of(first)) return;
  for (std::size_t rank = 0; rank < thrown.size(); ++rank) {
    const auto wait = thrown[rank] == first ? std::nullopt : wait_of(thrown[rank]);
    if (!wait) continue;
    db::log_as_rank(static_cast<int>(rank));
    spdlog::error(*wait);
  }
}

/// Runs `work` on threads of this process. Throws the exception of the rank that failed first, when
/// all have ended, and sets `failed` to that rank.
int work_on_threads(const db::options::InProcess& in_process,
                    const std::function<int(Communicator&)>& work, std::optional<int>& failed) {
  set_variables_of_shared_gpu();
  const auto ranks = static_cast<std::size_t>(in_process.ranks);
  std::vector<int> codes(ranks);
  std::vector<std::exception_ptr> thrown(ranks);
  try {
    run_local_ranks(gpu_cluster_of(in_process).node_of, [&](Communicator& world) {
      const auto self = static_cast<std::size_t>(world.rank);
      try {
        codes[self] = work(world);
      } catch (...) {
        thrown[self] = std::current_exception();
        throw;
      }
    });
  } catch (...) {
    const auto by = std::ranges::find(thrown, std::current_exception());
    if (by != thrown.end()) failed = static_cast<int>(by - thrown.begin());
    say_other_waits(thrown, std::current_exception());
    throw;
  }
  return std::ranges::max(codes);
}

std::string own_build(const JobInputs& inputs) {
  const auto found = std::ranges::find(inputs.given, kBuildKey, &InputFact::key);
  return found == inputs.given.end() ? "" : found->value;
}

/// The inputs of a job of this rank. Returns an exit code as do_together(); throws Disagreement on
/// all ranks. `is_handed`: the process that has started the ranks has read them.
int take_inputs(const Job& job, Communicator& world, const JobInputs& inputs, bool is_handed,
                const std::function<int(const std::exception&)>& failed) {
  if (is_handed && world.rank > 0) leave_standard_input();
  std::string handed;
  const auto read = [&] {
    if (world.rank > 0) return;
    handed = is_handed ? read_standard_input(job.time_limit_s)
                       : to_text(HandedInputs{rank_and_node(0), own_build(inputs), inputs.read()});
    handed_inputs(handed);
  };
  int code = do_together(job, world, read, failed);
  if (code != db::kExitDone) return code;
  handed = broadcast_text(world, handed,
                          {.time_limit_s = job.time_limit_s, .what = "broadcast of the inputs"});
  const HandedInputs all = handed_inputs(handed);
  std::vector<InputFact> facts = inputs.given;
  for (InputFact& fact : facts) {
    if (fact.key == kBuildKey) fact.expected = all.build;
  }
  expect_same_inputs(world, facts, all.reader, job.time_limit_s);
  const auto take = [&] { facts = inputs.take(all.text, world.rank); };
  code = do_together(job, world, take, failed);
  if (code == db::kExitDone) expect_same_inputs(world, facts, all.reader, job.time_limit_s);
  return code;
}

}  // namespace

int run_job(const Job& job, char** argv, const JobInputs& inputs,
            const std::function<int(Communicator& world)>& work) {
  const bool is_handed = tell_launcher();
  leave_openmp_place();
  std::optional<int> rank, thread;  // of this process; the one whose thread has failed
  // An error that every rank throws needs one message, and no rank has to be told.
  const auto tell = [&](const std::exception& error) {
    spdlog::error(words_of(error));
    report(job, outcome_of(error, rank));
    return exit_code(error);
  };
  const auto tell_with_node = [&](const std::exception& error) {
    spdlog::error("{}: {}", rank_and_node(rank.value_or(0)), words_of(error));
    report(job, outcome_of(error, rank));
    return exit_code(error);
  };
  const auto end_together = [&](const std::exception& error) {
    return rank.value_or(0) == 0 ? tell(error) : exit_code(error);
  };
  int code = db::kExitDone;
  try {
    refuse_lone_tasks(job.ranks);
    if (is_handed && !inside_mpi_job()) {  // it would start itself again, and so for ever
      throw InputError(
          "the launcher has started a process that is no MPI rank: expected a launcher of ranks, "
          "as mpirun, or in Slurm `srun --mpi=pmix`");
    }
    std::unique_ptr<Communicator> world;
    if (inside_mpi_job()) {
      world = join_ranks(job, argv, "");
      rank = world->rank;
      if (*rank > 0) db::log_as_rank(*rank);
      code = take_inputs(job, *world, inputs, is_handed, tell_with_node);
      stop_when_asked();
    } else {
      const std::string read = inputs.read();
      inputs.take(read, 0);
      stop_when_asked();
      if (job.in_process) return work_on_threads(job.in_process, work, thread);
      world = join_ranks(job, argv,
                         to_text(HandedInputs{node_name() + ", where the job was started",
                                              own_build(inputs), read}));
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
  } catch (const Disagreement& error) {
    code = end_together(error);
  } catch (const std::exception& error) {
    end_job(job, thread ? thread : rank, error);
  }
  finalize_mpi();
  return code;
}

}  // namespace moe
