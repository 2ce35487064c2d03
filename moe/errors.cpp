#include "moe/errors.h"

#include "db/error.h"
#include "moe/stop.h"

namespace moe {

int exit_code(const std::exception& error) {
  if (const auto* failure = dynamic_cast<const db::Error*>(&error)) return db::exit_code(*failure);
  if (const auto* stopped = dynamic_cast<const Stopped*>(&error)) return 128 + stopped->signal;
  if (dynamic_cast<const TimeLimit*>(&error)) return 124;
  if (dynamic_cast<const InputError*>(&error) || dynamic_cast<const Unavailable*>(&error) ||
      dynamic_cast<const std::invalid_argument*>(&error)) {
    return 2;
  }
  return 1;
}

}  // namespace moe
