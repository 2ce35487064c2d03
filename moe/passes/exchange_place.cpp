#include "moe/passes/exchange_place.h"

#include <stdexcept>

namespace moe {
namespace {

bool is_at(const Op& op, ExchangePlace place) {
  switch (place) {
    case ExchangePlace::dispatch:
      return direction_of(op) == Direction::dispatch || std::holds_alternative<GatherRows>(op.kind);
    case ExchangePlace::combine:
      return direction_of(op) == Direction::combine;
    case ExchangePlace::block:
      return true;
  }
  throw std::logic_error("exchange_place: no such place");
}

}  // namespace

std::optional<std::size_t> place_of(const Program& program, Phase phase, ExchangePlace after,
                                    int at) {
  for (std::size_t i = program.ops.size(); i-- > 0;) {
    const Op& op = program.ops[i];
    if (op.layer != at || op.phase != phase || comes_once(op) || !is_at(op, after)) continue;
    if (phase == Phase::backward || op.micro_batch == 0) return i;
  }
  return std::nullopt;
}

}  // namespace moe
