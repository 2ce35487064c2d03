#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moe/errors.h"

/// How a training ended, for programs: one line of JSON on stdout with `--format json`. People read
/// the messages on stderr, whose words mean nothing to a program.
namespace moe {

enum class OutcomeStatus : std::uint8_t {
  done,
  refused,        ///< the command line, a file or a schedule is not legal
  out_of_memory,  ///< a memory limit, an arena or an allocation was too small
  time_limit,     ///< a wait ended at its limit
  not_finite,     ///< a loss is not finite
  lost_rank,      ///< a rank ended without a word, or gave up
  lost_node,      ///< a launcher lost a host that its ranks ran on, whatever they did there
  killed,         ///< it ended in order because a signal asked for it
  lost_output,    ///< a log, a database or stdout can no longer be written
  not_started,    ///< a launcher ended before any rank ran, which says nothing about the training
  failed,         ///< anything else
};
/// "out_of_memory"
std::string_view outcome_name(OutcomeStatus status);

struct Outcome {
  OutcomeStatus status = OutcomeStatus::failed;
  std::optional<int> rank{};            ///< the rank that it happened on
  std::optional<int> layer{};           ///< the block that it happened in; -1 outside the blocks
  std::optional<std::int64_t> bytes{};  ///< the bytes that were needed
  std::optional<int> signal{};          ///< the signal that ended a rank, or asked for the end
  std::string message{};                ///< a text for a person

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// The outcome that an exception means, thrown by `rank` or by a process before it has a rank.
Outcome outcome_of(const std::exception& error, std::optional<int> rank);

/// A launcher ended before any rank ran: a host refused it, an allocation was over, or there is no
/// such launcher. The message has its last words.
struct NotStarted : CommunicationError {
  using CommunicationError::CommunicationError;
};

/// Whether an exit code says that a signal ended a process. Higher ones are a launcher's own: mpirun
/// ends with 205 where a host is gone.
bool is_exit_code_of_signal(int code);
bool is_exit_code_of_launcher(int code);

/// The outcome that an exit code means, of a training that told nothing else.
Outcome outcome_of_exit(int code);

/// One line: {"status": "out_of_memory", "rank": 1, "layer": 3, "bytes": 4096, "message": "..."},
/// without the keys that are not known.
std::string to_json(const Outcome& outcome);

/// The last outcome among the lines of a program's stdout, which may have other lines too. None
/// where no line is an outcome.
std::optional<Outcome> find_outcome(std::string_view output);

/// The outcome among those of several ranks that tells the cause: not that of a rank which only
/// noticed that another had ended. `code` is the exit code of the whole training.
Outcome first_cause(const std::vector<Outcome>& outcomes, int code);

}  // namespace moe
