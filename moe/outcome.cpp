#include "moe/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "db/console/exit_codes.h"
#include "db/console/output_error.h"
#include "db/error.h"
#include "moe/errors.h"
#include "moe/lost_output.h"
#include "moe/stop.h"

namespace moe {
namespace {

constexpr std::array<std::string_view, 11> kNames{
    "done",      "refused", "out_of_memory", "time_limit",  "not_finite", "lost_rank",
    "lost_node", "killed",  "lost_output",   "not_started", "failed"};

constexpr int kMostSignal = 64;

/// The signals by which a program is asked to end in order (stop.h).
bool asks_to_end(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGPIPE ||
         signal == SIGUSR1;
}

std::optional<OutcomeStatus> status_named(const std::string& name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<OutcomeStatus>(found - kNames.begin());
}

bool is_of_an_output(const std::exception& error) {
  return dynamic_cast<const LostOutput*>(&error) != nullptr ||
         dynamic_cast<const db::Error*>(&error) != nullptr ||
         dynamic_cast<const db::OutputError*>(&error) != nullptr;
}

void add_place(Outcome& outcome, const Where& where) {
  if (where.layer) outcome.layer = where.layer;
  if (where.rank) outcome.rank = where.rank;
}

template <class Number>
std::optional<Number> number_in(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<Number>();
}

std::optional<Outcome> read_outcome(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("status") || !json["status"].is_string()) {
    return std::nullopt;
  }
  const auto status = status_named(json["status"]);
  if (!status) return std::nullopt;
  Outcome outcome{*status};
  outcome.rank = number_in<int>(json, "rank");
  outcome.layer = number_in<int>(json, "layer");
  outcome.bytes = number_in<std::int64_t>(json, "bytes");
  outcome.signal = number_in<int>(json, "signal");
  if (json.contains("message") && json["message"].is_string()) outcome.message = json["message"];
  return outcome;
}

}  // namespace

std::string_view outcome_name(OutcomeStatus status) {
  return kNames[static_cast<std::size_t>(status)];
}

Outcome outcome_of(const std::exception& error, std::optional<int> rank) {
  Outcome outcome{.rank = rank, .message = error.what()};
  if (const auto* stopped = dynamic_cast<const Stopped*>(&error)) {
    outcome.status = OutcomeStatus::killed;
    outcome.signal = stopped->signal;
  } else if (const auto* interrupted = dynamic_cast<const Interrupted*>(&error)) {
    outcome.status = OutcomeStatus::killed;
    outcome.signal = interrupted->signal;
  } else if (const auto* memory = dynamic_cast<const OutOfMemory*>(&error)) {
    outcome.status = OutcomeStatus::out_of_memory;
    add_place(outcome, memory->where);
    if (memory->bytes > 0) outcome.bytes = memory->bytes;
  } else if (dynamic_cast<const std::bad_alloc*>(&error)) {
    outcome.status = OutcomeStatus::out_of_memory;
  } else if (dynamic_cast<const TimeLimit*>(&error)) {
    outcome.status = OutcomeStatus::time_limit;
  } else if (const auto* not_finite = dynamic_cast<const NotFinite*>(&error)) {
    outcome.status = OutcomeStatus::not_finite;
    add_place(outcome, not_finite->where);
  } else if (dynamic_cast<const NotStarted*>(&error)) {
    outcome.status = OutcomeStatus::not_started;
  } else if (dynamic_cast<const CommunicationError*>(&error)) {
    outcome.status = OutcomeStatus::lost_rank;
  } else if (const auto* refusal = dynamic_cast<const Refusal*>(&error)) {
    outcome.status = OutcomeStatus::refused;
    add_place(outcome, refusal->where);
  } else if (is_of_an_output(error) && exit_code(error) == db::kExitFailed) {
    outcome.status = OutcomeStatus::lost_output;
  } else if (exit_code(error) == db::kExitWrongUse) {
    outcome.status = OutcomeStatus::refused;
  }
  return outcome;
}

bool is_exit_code_of_signal(int code) {
  return code > db::exit_code_of_signal(0) && code <= db::exit_code_of_signal(kMostSignal);
}

bool is_exit_code_of_launcher(int code) { return code > db::exit_code_of_signal(kMostSignal); }

Outcome outcome_of_exit(int code) {
  if (code == db::kExitDone) return {OutcomeStatus::done};
  if (code == db::kExitWrongUse) return {OutcomeStatus::refused};
  if (code == db::kExitOutOfMemory) return {OutcomeStatus::out_of_memory};
  if (code == db::kExitTimeLimit) return {OutcomeStatus::time_limit};
  if (is_exit_code_of_launcher(code)) {
    return {.status = OutcomeStatus::lost_node,
            .message = fmt::format("the launcher has lost a host: it ended with {}", code)};
  }
  if (!is_exit_code_of_signal(code)) return {OutcomeStatus::failed};
  const int signal = code - db::exit_code_of_signal(0);
  return {
      .status = OutcomeStatus::lost_rank,
      .signal = signal,
      .message = fmt::format("a process was ended by signal {} ({})", signal, strsignal(signal))};
}

std::string to_json(const Outcome& outcome) {
  nlohmann::ordered_json json{{"status", outcome_name(outcome.status)}};
  if (outcome.rank) json["rank"] = *outcome.rank;
  if (outcome.layer) json["layer"] = *outcome.layer;
  if (outcome.bytes) json["bytes"] = *outcome.bytes;
  if (outcome.signal) json["signal"] = *outcome.signal;
  if (!outcome.message.empty()) json["message"] = outcome.message;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<Outcome> find_outcome(std::string_view output) {
  std::optional<Outcome> found;
  while (!output.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(output.size(), line.size() + 1));
    if (auto outcome = read_outcome(line)) found = std::move(outcome);
  }
  return found;
}

Outcome first_cause(const std::vector<Outcome>& outcomes, int code) {
  const auto cause = std::find_if(outcomes.begin(), outcomes.end(), [](const Outcome& one) {
    return one.status != OutcomeStatus::lost_rank;
  });
  Outcome by_code = outcome_of_exit(code);
  if (cause != outcomes.end()) {
    // When a rank is lost, mpirun asks the others to end by SIGTERM: theirs is not the cause.
    if (cause->status != OutcomeStatus::killed) return *cause;
    if (is_exit_code_of_launcher(code)) return by_code;
    if (!by_code.signal) return *cause;
    if (!asks_to_end(*by_code.signal)) return by_code;
    Outcome killed = *cause;
    killed.signal = by_code.signal;  // ranks may have been told by another, SIGUSR1
    return killed;
  }
  if (by_code.status == OutcomeStatus::failed && !outcomes.empty()) return outcomes.front();
  return by_code;
}

}  // namespace moe
