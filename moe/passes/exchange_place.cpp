#include "moe/passes/exchange_place.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "moe/passes/way_out.h"

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

bool is_of(const Op& op, Phase phase) {
  if (op.phase != phase || comes_once(op)) return false;
  return phase == Phase::backward || op.micro_batch == 0;
}

}  // namespace

std::optional<std::size_t> place_of(const Program& program, Phase phase, ExchangePlace after,
                                    int at) {
  for (std::size_t i = program.ops.size(); i-- > 0;) {
    const Op& op = program.ops[i];
    if (op.layer == at && is_of(op, phase) && is_at(op, after)) return i;
  }
  return std::nullopt;
}

std::size_t first_place(const Program& program, Phase phase) {
  std::set<std::pair<int, ExchangePlace>> seen;
  std::size_t first = program.ops.size();
  for (std::size_t i = program.ops.size(); i-- > 0;) {
    const Op& op = program.ops[i];
    if (!is_of(op, phase)) continue;
    for (const auto place :
         {ExchangePlace::dispatch, ExchangePlace::combine, ExchangePlace::block}) {
      if (is_at(op, place) && seen.insert({op.layer, place}).second) first = i;
    }
  }
  return first;
}

std::string expected_place(const Program& program, Phase phase, int stage, PlacesAfter places,
                           std::string otherwise) {
  std::map<std::pair<int, ExchangePlace>, std::size_t> last;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.layer < 0 || !is_of(op, phase) || (stage >= 0 && op.stage != stage)) continue;
    for (const auto place :
         {ExchangePlace::dispatch, ExchangePlace::combine, ExchangePlace::block}) {
      if (is_at(op, place)) last[{op.layer, place}] = i;
    }
  }
  std::vector<std::string> names;
  for (const auto& [place, i] : last) {
    if (i < places.first || i >= places.end) continue;
    names.push_back(fmt::format("{} of {}", exchange_place_name(place.second), place.first));
  }
  return expected_one_of(names, std::move(otherwise));
}

}  // namespace moe
