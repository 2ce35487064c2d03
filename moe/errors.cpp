#include "moe/errors.h"

#include <initializer_list>
#include <utility>

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

int exit_code(const std::exception& error) {
  if (const auto* failure = dynamic_cast<const db::Error*>(&error)) return db::exit_code(*failure);
  if (const auto* stopped = dynamic_cast<const Stopped*>(&error)) return 128 + stopped->signal;
  if (const auto* interrupted = dynamic_cast<const Interrupted*>(&error)) {
    return 128 + interrupted->signal;
  }
  if (dynamic_cast<const TimeLimit*>(&error)) return 124;
  if (dynamic_cast<const InputError*>(&error) || dynamic_cast<const Unavailable*>(&error) ||
      dynamic_cast<const Refusal*>(&error)) {
    return 2;
  }
  return 1;
}

}  // namespace moe
