#pragma once

#include <cstddef>
#include <cstdint>

#include "moe/kernels/device.h"
#include "moe/ops/gate.h"

/// The slots of ExpertSlotBody by many teams: tokens are cut into tiles, and each expert has a team
/// for every tile. For one capacity group, and for copies that are taken in the order of tokens or
/// of choices.
namespace moe {

/// In `rounds` rounds an expert takes copies in token order: in round r those of choice r, or those
/// of all choices where there is one round. A token asks an expert once, so that the slot of its
/// copy is
///   sum over r of min(copies of earlier tokens in round r, room of round r),
/// and the copy is kept where fewer than `room` came before it in its own round.
struct SlotTiles {
  const std::int32_t* chosen;
  std::int32_t* counts;  ///< [expert, round, tile], of copies; then of those in earlier tiles
  std::int32_t* rooms;   ///< [expert, round]
  std::int64_t tokens, tiles, tile_tokens;
  std::int64_t rounds, choices;

  MOE_BODY std::int32_t* counts_of(std::int64_t expert, std::int64_t round) const {
    return counts + (expert * rounds + round) * tiles;
  }
  MOE_BODY std::int64_t begin_of(std::int64_t tile) const { return tile * tile_tokens; }
  MOE_BODY std::int64_t size_of(std::int64_t tile) const {
    const std::int64_t left = tokens - begin_of(tile);
    return left < tile_tokens ? left : tile_tokens;
  }
  /// The copy with which the token asks the expert, -1 where it does not.
  MOE_BODY std::int64_t copy_of(std::int64_t token, std::int64_t expert) const {
    for (std::int64_t i = token * choices; i < (token + 1) * choices; ++i) {
      if (chosen[i] == expert) return i;
    }
    return -1;
  }
  MOE_BODY std::int64_t round_of(std::int64_t copy) const {
    return rounds == 1 ? 0 : copy % choices;
  }
};

/// A team per expert and tile.
struct CountCopiesBody {
  static constexpr bool kWideRows = true;
  SlotTiles all;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const SlotTiles tiles = all;
    const std::int64_t expert = row / tiles.tiles, tile = row % tiles.tiles;
    const std::int64_t begin = tiles.begin_of(tile);
    for (std::int64_t round = 0; round < tiles.rounds; ++round) {
      const std::int32_t count = team.sum(tiles.size_of(tile), [=](std::int64_t t) {
        const std::int64_t copy = tiles.copy_of(begin + t, expert);
        return static_cast<std::int32_t>(copy >= 0 && tiles.round_of(copy) == round);
      });
      if (team.leader()) tiles.counts_of(expert, round)[tile] = count;
    }
  }
};

/// Sums the counts up, and writes what ExpertSlotBody writes of an expert. A team per expert.
struct SumCopiesBody {
  SlotTiles all;
  std::int32_t* offsets;
  std::int32_t* demand;
  std::int32_t* used;
  const std::int32_t* demand_before;  ///< null for the first tokens, as used_before
  const std::int32_t* used_before;
  std::int64_t capacity;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t expert) const {
    const SlotTiles tiles = all;
    std::int32_t asked = demand_before != nullptr ? demand_before[expert] : 0;
    std::int64_t taken = used_before != nullptr ? used_before[expert] : 0;
    std::int32_t kept = 0;
    for (std::int64_t round = 0; round < tiles.rounds; ++round) {
      std::int32_t* const counts = tiles.counts_of(expert, round);
      const std::int32_t total = team.scan(
          tiles.tiles, [=](std::int64_t tile) { return counts[tile]; },
          [=](std::int64_t tile, std::int32_t before) { counts[tile] = before; });
      const std::int64_t room = capacity > taken ? capacity - taken : 0;
      const std::int64_t more = total < room ? total : room;
      if (team.leader()) {
        const std::int64_t most = room < tiles.tokens ? room : tiles.tokens;
        tiles.rooms[expert * tiles.rounds + round] = static_cast<std::int32_t>(most);
      }
      asked += total;
      taken += more;
      kept += static_cast<std::int32_t>(more);
    }
    if (!team.leader()) return;
    offsets[expert + 1] = kept;
    demand[expert] = asked;
    used[expert] = static_cast<std::int32_t>(taken);
  }
};

/// A team per expert and tile.
struct TileSlotsBody {
  static constexpr bool kWideRows = true;
  SlotTiles all;
  std::int32_t* slots;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t row) const {
    const SlotTiles tiles = all;
    std::int32_t* const slot_of = slots;
    const std::int64_t expert = row / tiles.tiles, tile = row % tiles.tiles;
    const std::int64_t begin = tiles.begin_of(tile), size = tiles.size_of(tile);
    for (std::int64_t round = 0; round < tiles.rounds; ++round) {
      const std::int32_t before_tile = tiles.counts_of(expert, round)[tile];
      const std::int32_t room = tiles.rooms[expert * tiles.rounds + round];
      team.scan(
          size,
          [=](std::int64_t t) {
            const std::int64_t copy = tiles.copy_of(begin + t, expert);
            return static_cast<std::int32_t>(copy >= 0 && tiles.round_of(copy) == round);
          },
          [=](std::int64_t t, std::int32_t before) {
            const std::int64_t copy = tiles.copy_of(begin + t, expert);
            if (copy < 0) return;
            const std::int32_t earlier = before_tile + before;
            const std::int32_t place = (round == 0 ? 0 : slot_of[copy]);
            const bool dropped = place < 0 || (tiles.round_of(copy) == round && earlier >= room);
            slot_of[copy] = dropped ? -1 : place + (earlier < room ? earlier : room);
          });
      team.sync();  // the next round goes on from these slots
    }
  }
};

/// Gives slots to the copies of `experts` experts by tiles. False, having done nothing, where the
/// executor has no room for the counts or where one tile has all tokens. `body` is what says all
/// that ExpertSlotBody needs; it has one capacity group and does not drop by probability.
template <class Exec, class Body>
bool launch_slot_tiles(Exec& exec, const Body& body) {
  if constexpr (requires { exec.scratch(std::size_t{}); }) {
    SlotTiles tiles{};
    tiles.chosen = body.chosen;
    tiles.tokens = body.end - body.begin;
    tiles.tile_tokens = Exec::kSlotTile;
    tiles.tiles = (tiles.tokens + tiles.tile_tokens - 1) / tiles.tile_tokens;
    tiles.choices = body.choices;
    tiles.rounds = body.drop == Drop::position ? 1 : body.choices;
    if (tiles.tiles < 2) return false;
    const std::int64_t rows = body.experts * tiles.rounds;
    tiles.counts = static_cast<std::int32_t*>(
        exec.scratch(static_cast<std::size_t>(rows * (tiles.tiles + 1)) * sizeof(std::int32_t)));
    if (tiles.counts == nullptr) return false;
    tiles.rooms = tiles.counts + rows * tiles.tiles;
    exec.rows(body.experts * tiles.tiles, tiles.tile_tokens, CountCopiesBody{tiles});
    exec.rows(body.experts, tiles.tiles,
              SumCopiesBody{tiles, body.offsets, body.demand, body.used, body.before.demand,
                            body.before.used, body.capacity});
    exec.rows(body.experts * tiles.tiles, tiles.tile_tokens, TileSlotsBody{tiles, body.slots});
    return true;
  } else {
    return false;
  }
}

}  // namespace moe
