#include "moe/errors.h"

#include <initializer_list>
#include <new>
#include <utility>

#include "db/console/exit_codes.h"
#include "db/error.h"
#include "moe/stop.h"

namespace moe {
namespace {

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += ": ";
    text += part;
  }
  return text;
}

}  // namespace

Refusal::Refusal(std::string_view subject, std::string_view reason, std::string way_out,
                 Where where)
    : std::runtime_error(joined({subject, reason, way_out})),
      reason(joined({subject, reason})),
      way_out(std::move(way_out)),
      where(std::move(where)) {}

Refusal within(std::string_view subject, const Refusal& refusal) {
  return {subject, refusal.reason, refusal.way_out, refusal.where};
}

OutOfMemory::OutOfMemory(const std::string& what, std::int64_t bytes, Where where)
    : std::runtime_error(what), bytes(bytes), where(std::move(where)) {}

NotFinite::NotFinite(const std::string& what, Where where)
    : std::runtime_error(what), where(std::move(where)) {}

int exit_code(const std::exception& error) {
  if (const auto* failure = dynamic_cast<const db::Error*>(&error)) return db::exit_code(*failure);
  if (const auto* stopped = dynamic_cast<const Stopped*>(&error)) {
    return db::exit_code_of_signal(stopped->signal);
  }
  if (const auto* interrupted = dynamic_cast<const Interrupted*>(&error)) {
    return db::exit_code_of_signal(interrupted->signal);
  }
  if (const auto* failure = dynamic_cast<const CheckpointError*>(&error)) {
    return failure->exit_code;
  }
  if (dynamic_cast<const TimeLimit*>(&error)) return db::kExitTimeLimit;
  if (dynamic_cast<const OutOfMemory*>(&error) || dynamic_cast<const std::bad_alloc*>(&error)) {
    return db::kExitOutOfMemory;
  }
  if (dynamic_cast<const InputError*>(&error) || dynamic_cast<const Unavailable*>(&error) ||
      dynamic_cast<const Refusal*>(&error)) {
    return db::kExitWrongUse;
  }
  return db::kExitFailed;
}

}  // namespace moe
