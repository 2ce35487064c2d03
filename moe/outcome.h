#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How a training ended, for programs: one line of JSON on stdout with `--format json`. People read
/// the messages on stderr, whose words mean nothing to a program.
namespace moe {

enum class OutcomeStatus : std::uint8_t {
  done,
  refused,        ///< the command line, a file or a schedule is not legal
  out_of_memory,  ///< a limit, an arena or an allocation
  time_limit,     ///< a wait ended at its limit
  not_finite,     ///< a loss is not finite
  lost_rank,      ///< a rank ended without a word, or gave up
  killed,         ///< in order, because a signal asked for it
  failed,         ///< anything else
};
/// "out_of_memory"
std::string_view outcome_name(OutcomeStatus status);

struct Outcome {
  OutcomeStatus status = OutcomeStatus::failed;
  std::optional<int> rank{};            ///< that it happened on
  std::optional<int> layer{};           ///< a block; -1 outside of the blocks
  std::optional<std::int64_t> bytes{};  ///< that were needed
  std::optional<int> signal{};          ///< that ended a rank, or asked for the end
  std::string message{};                ///< for a person

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Of what `rank`, or a process before it has one, has thrown.
Outcome outcome_of(const std::exception& error, std::optional<int> rank);

/// Of the exit code of a training that told nothing else.
Outcome outcome_of_exit(int code);

/// {"status": "out_of_memory", "rank": 1, "layer": 3, "bytes": 4096, "message": "..."}, in a line,
/// without the keys that are not known.
std::string to_json(const Outcome& outcome);

/// Of the lines of a program's stdout, whatever else stands among them: the last one that is an
/// outcome. None where no line is.
std::optional<Outcome> find_outcome(std::string_view output);

/// The one among those of several ranks that says why: not one of a rank which only noticed that
/// another had ended. `code` is the exit code of the whole training.
Outcome first_cause(const std::vector<Outcome>& outcomes, int code);

}  // namespace moe
